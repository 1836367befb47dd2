/* SPDX-License-Identifier: Apache-2.0 */
/* hone explain --hardware: what the device model takes the hardware to be, as the tables of
 * doc/hardware.md. */
#include <stdio.h>

#include "cli/words/private.h"
#include "device/device.h"

static void print_facts(void) {
    const struct device_fact *fact;
    puts("## Peaks and sizes\n\n| | unit | trn1 | trn2 | trn3 | from |\n|---|---|---|---|---|---|");
    for (size_t i = 0; (fact = device_fact_at(i)); i++)
        printf("| %s | %s | %.12g | %.12g | %.12g | %s |\n", fact->what, fact->unit, fact->value[0],
               fact->value[1], fact->value[2], fact->source);
    printf("| to and from HBM at most, as floors and prompts count it | GB/s |");
    for (int g = NKI_GEN2; g <= NKI_GEN4; g++)
        printf(" %.12g |",
               device_memory_bytes_per_ns(device_generation_of((enum nki_generation)g)));
    puts(" the DMA engines together, or the share of HBM where that is more |");
}

static void print_value(double value, struct device_known known) {
    static const char *const how[] = {"documented", "measured", "fitted", "guessed"};
    printf(" %.4g, %s", value, how[known.how]);
    if (known.percent > 0)
        printf(" ±%.0f %%", known.percent);
    fputs(" |", stdout);
}

static void print_constants(void) {
    const struct device_constant *row;
    puts("\n## What instructions and transfers cost\n\n| | unit | trn1 | trn2 | trn3 | from |\n"
         "|---|---|---|---|---|---|");
    for (size_t i = 0; (row = device_constant_at(i)); i++) {
        printf("| `%s`: %s | %s |", row->name, row->what, row->unit);
        for (int g = 0; g < 3; g++)
            print_value(row->value[g],
                        device_constant_known(row, (enum nki_generation)(NKI_GEN2 + g)));
        printf(" %s |\n", row->source);
    }
}

void cli_print_hardware(void) {
    print_facts();
    print_constants();
}
