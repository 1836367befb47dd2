# SPDX-License-Identifier: Apache-2.0
"""As much of pandas as reads the stand-ins' tables."""

import json


class DataFrame:
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def head(self, count=5):
        return DataFrame(self.rows[:count])

    def to_dict(self, orient):
        assert orient == "records"
        return [dict(row) for row in self.rows]


def read_parquet(path, columns=None):
    with open(path, encoding="utf-8") as file:
        return DataFrame(json.load(file))
