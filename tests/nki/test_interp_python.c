/* SPDX-License-Identifier: Apache-2.0 */
/* The Python that kernels are written in: tables of a source and what it evaluates to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/interp_double.h"

static const char *run(const char *source) {
    struct nki_specialise_options options = {0};
    return run_with(source, &options);
}

/* An expression, or the body of `def k():` when it has line ends. */
static const char *value_of(const char *text) {
    struct buf source = {0};
    if (strchr(text, '\n'))
        buf_puts(&source, text);
    else
        buf_printf(&source, "def k():\n    return %s\n", text);
    const char *result = run(source.at);
    buf_free(&source);
    return result;
}

struct row {
    const char *source, *result;
};

static void check(const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *result = value_of(rows[i].source);
        if (strcmp(result, rows[i].result) != 0)
            print_error("row %zu: %s\n", i, rows[i].source);
        assert_string_equal(result, rows[i].result);
    }
}

static void expressions(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"1 + 2 * 3", "7"},
        {"7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3", "(3, -4, 1, 2, -2)"},
        {"7 / 2", "3.5"},
        {"2 ** 10, 2 ** -1, 2.0 ** 3", "(1024, 0.5, 8.0)"},
        {"7.5 // 2, -7.5 % 2", "(3.0, 0.5)"},
        {"1 << 4 | 3, 6 & 3, 6 ^ 3, ~5", "(19, 2, 5, -6)"},
        {"-(-3), +2, not 0", "(3, 2, True)"},
        {"(128).bit_length(), (0).bit_length(), (-255).bit_length(), True.bit_length()",
         "(8, 0, 8, 1)"},
        {"(255).bit_count(), (-3).bit_count(), (3).is_integer(), (2.0).is_integer(), "
         "(2.5).is_integer()",
         "(8, 2, True, True, False)"},
        {"(0.75).as_integer_ratio(), (6).as_integer_ratio(), (-2.0).as_integer_ratio()",
         "((3, 4), (6, 1), (-2, 1))"},
        {"(6).numerator, (6).denominator, (2.5).real, (2.5).imag", "(6, 1, 2.5, 0)"},
        {"True + True", "2"},
        {"True & False", "False"},
        {"1e-5, 1.5e300, 1e16, 0.1 + 0.2, 100.0",
         "(1e-05, 1.5e+300, 1e+16, 0.30000000000000004, 100.0)"},
        {"1 < 2 < 3, 1 < 2 > 3, 3 == 3.0, 1 != 2", "(True, False, True, True)"},
        {"None is None, 3 is not None", "(True, True)"},
        {"2 in [1, 2], 'b' in 'abc', 5 in range(0, 10, 5), 'x' not in {'x': 1}",
         "(True, True, True, False)"},
        {"0 or 'a', 1 and 2, [] or None", "('a', 2, None)"},
        {"'yes' if 3 > 2 else 'no'", "yes"},
        {"[1, 2] + [3], (1,) * 3, 'ab' * 2, 'a' 'b'", "([1, 2, 3], (1, 1, 1), 'abab', 'ab')"},
        {"[*range(3), 9], {**{'a': 1}, 'b': 2}", "([0, 1, 2, 9], {'a': 1, 'b': 2})"},
        {"[10, 20, 30][-1], (1, 2, 3, 4)[1:3], 'hello'[::-1]", "(30, (2, 3), 'olleh')"},
        {"[0, 1, 2, 3, 4][::2], [0, 1, 2][5:], list(range(10))[-3:-1]", "([0, 2, 4], [], [7, 8])"},
        {"{1: 'a', 'b': 2.5, (1, 2): None}", "{1: 'a', 'b': 2.5, (1, 2): None}"},
        {"{3, 1, 3}", "{3, 1}"},
        {"{1, 2} | {3}, {1, 2} & {2}, {1, 2} - {2}", "({1, 2, 3}, {2}, {1})"},
        {"[x * y for x in range(3) for y in range(3) if x != y]", "[0, 0, 0, 2, 0, 2]"},
        {"{k: v for k, v in zip('ab', (1, 2))}", "{'a': 1, 'b': 2}"},
        {"sum(x for x in range(5))", "10"},
        {"{x % 2 for x in range(5)}", "{0, 1}"},
        {"(lambda a, b=2: a * b)(4)", "8"},
        {"(n := 4) + n", "8"},
        {"range(3), range(1, 9, 2), len(range(9, 0, -2))", "(range(0, 3), range(1, 9, 2), 5)"},
        {"range(10)[2:5], range(10)[-1]", "(range(2, 5), 9)"},
        {"(1, 2) == (1, 2), [1] == (1,), (1, 2) < (1, 3)", "(True, False, True)"},
        {"'a\\n\\'b'", "a\n'b"},
        {"['it\\'s', 'q\"']", "[\"it's\", 'q\"']"},
        {"slice(1, None), ...", "(slice(1, None, None), Ellipsis)"},
        {"4611686018427387904 * 2", "k.py:2:12: error: the result of '*' does not fit a 64-bit "
                                    "integer, and hone has no larger "
                                    "ones [hone-gap-python]"},
        {"1 // 0", "k.py:2:12: error: division by zero [ZeroDivisionError]"},
    };
    check(rows, COUNT_OF(rows));
}

static void strings(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"f'{1+1}-{\"x\"!r}-{3.14159:.2f}|{5:>4}|{5:<4}|{5:^5}|{5:04d}|{255:x}|{255:#b}'",
         "2-'x'-3.14|   5|5   |  5  |0005|ff|0b11111111"},
        {"f'{1234567:,} {0.5:%} {1e-3:g} {1e10:e} {\"ab\":>5} {\"abc\":.2} {-3:+d} {7:{4}}'",
         "1,234,567 50.000000% 0.001 1.000000e+10    ab ab -3    7"},
        {"'%d %s %.1f %5d|%-5s|%%' % (3, 'x', 2.55, 7, 'l')", "3 x 2.5     7|l    |%"},
        {"'{} {1} {n:>3}'.format(1, 2, n=3)", "1 2   3"},
        {"'a,b,,c'.split(','), ' a  b '.split(), 'a.b.c'.split('.', 1)",
         "(['a', 'b', '', 'c'], ['a', 'b'], ['a', 'b.c'])"},
        {"'-'.join(['a', 'b']), 'abc'.upper(), ' x '.strip(), 'xxay'.lstrip('x')",
         "('a-b', 'ABC', 'x', 'ay')"},
        {"'abc'.startswith('ab'), 'abc'.endswith(('x', 'bc')), 'abcabc'.find('c'), "
         "'aXbX'.replace('X', '-')",
         "(True, True, 2, 'a-b-')"},
        {"'7'.zfill(3), 'a'.ljust(3) + '|', 'ab'.center(6, '*'), '12'.isdigit()",
         "('007', 'a  |', '**ab**', True)"},
        {"str(1.0), str(None), str([1, 'a']), repr('a')", "('1.0', 'None', \"[1, 'a']\", \"'a'\")"},
        {"'k_v'.partition('_'), 'abab'.count('ab'), 'kernel'.removeprefix('ker')",
         "(('k', '_', 'v'), 2, 'nel')"},
        {"len('h\xc3\xa9llo'), 'h\xc3\xa9llo'[1]", "(5, '\xc3\xa9')"},
        {"f'{3:q}'", "k.py:2:14: error: 'q' is not a format spec [ValueError]"},
    };
    check(rows, COUNT_OF(rows));
}

static void builtins(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"min(3, 1, 2), max([1, 5, 2]), min([], default=0), max('b', 'a')", "(1, 5, 0, 'b')"},
        {"max([1, -5], key=abs), sorted([3, 1, 2], reverse=True), sorted(['bb', 'a'], key=len)",
         "(-5, [3, 2, 1], ['a', 'bb'])"},
        {"abs(-3), abs(-2.5), round(2.5), round(3.14159, 2), divmod(7, 2), pow(2, 5)",
         "(3, 2.5, 2, 3.14, (3, 1), 32)"},
        {"list(zip([1, 2], 'ab')), list(enumerate('ab', 1)), list(reversed([1, 2]))",
         "([(1, 'a'), (2, 'b')], [(1, 'a'), (2, 'b')], [2, 1])"},
        {"any([0, 1]), all([1, 0]), all([]), sum([1, 2], 10), list(map(lambda x: x + 1, [1, 2]))",
         "(True, False, True, 13, [2, 3])"},
        {"list(filter(None, [0, 1, 2])), tuple([1]), dict(a=1), set([1, 1]), bool([])",
         "([1, 2], (1,), {'a': 1}, {1}, False)"},
        {"int('42'), int(3.9), int(-3.9), float('1e3'), float('inf'), int(True)",
         "(42, 3, -3, 1000.0, inf, 1)"},
        {"isinstance(3, int), isinstance(True, int), isinstance('a', (int, str)), isinstance([], "
         "tuple)",
         "(True, True, True, False)"},
        {"type(3) == int, type('a') is str, type(3) is float", "(True, True, False)"},
        {"hasattr([], 'append'), getattr(3, 'foo', 7), callable(len)", "(True, 7, True)"},
        {"hex(255), bin(5), oct(8), chr(65), ord('A')", "('0xff', '0b101', '0o10', 'A', 65)"},
        {"def k():\n    a = [3, 1]\n    a.append(2); a.sort(); a.insert(0, 9); b = a.pop(); "
         "a.extend([7]); a.reverse()\n    a.remove(7)\n    return a, b, a.index(9), a.count(1), "
         "a.copy()\n",
         "([2, 1, 9], 3, 2, 1, [2, 1, 9])"},
        {"def k():\n    d = {'a': 1}\n    d['b'] = 2\n    d.setdefault('c', 3)\n    "
         "d.update(a=5)\n    del d['b']\n    return d, list(d.items()), d.get('z', 0), d.pop('a'), "
         "list(d), len(d)\n",
         "({'c': 3}, [('a', 5), ('c', 3)], 0, 5, ['c'], 1)"},
        {"def k():\n    d = {}\n    for i in range(100):\n        d[i, i + 1] = i\n    for i in "
         "range(0, 100, 2):\n        del d[i, i + 1]\n    return sum(d[i, i + 1] for i in range(1, "
         "100, 2)), len(d), (4, 5) in d\n",
         "(2500, 50, False)"},
        {"import os\nMODE = os.environ.get('KERNEL_MODE', 'plain')\ndef k():\n"
         "    return MODE, os.getenv('A'), os.getenv('A', '1'), [n for n, v in "
         "os.environ.items()]\n",
         "('plain', None, '1', [])"},
        {"import math\ndef k():\n    return math.ceil(2.1), math.floor(-2.1), math.sqrt(16), "
         "math.log2(8), math.gcd(12, 18), math.pi > 3, math.prod([2, 3]), math.inf\n",
         "(3, -3, 4.0, 3.0, 6, True, 6, inf)"},
        {"from functools import reduce, partial\nimport itertools\ndef k():\n    return "
         "reduce(lambda a, b: a * b, [1, 2, 3, 4]), partial(max, 3)(5), list(itertools.product([0, "
         "1], 'ab'))\n",
         "(24, 5, [(0, 'a'), (0, 'b'), (1, 'a'), (1, 'b')])"},
        {"def k():\n    print('a', 1, [2.5], sep='-')\n    return 1\n", "a-1-[2.5]\n1"},
        {"next(iter([4, 5])), next(iter([]), 0)", "(4, 0)"},
        {"round(2.675, 2), round(1234, -2), int('0x1f', 16), int('101', 2), isinstance(None, "
         "type(None))",
         "(2.67, 1200, 31, 5, True)"},
        {"'abcabc'.rfind('bc'), 'abc'.rfind(''), 'abc'.find(''), 'a'.rfind('x'), ''.rfind('a')",
         "(4, 3, 0, -1, -1)"},
        {"'a.b.c'.rpartition('.'), 'a'.rpartition('.'), 'a'.partition('.')",
         "(('a.b', '.', 'c'), ('', '', 'a'), ('a', '', ''))"},
        {"'a-b-c'.rsplit('-', 1), 'a-b'.rsplit('-')", "(['a-b', 'c'], ['a', 'b'])"},
        {"from collections import defaultdict\nfrom itertools import combinations, permutations, "
         "islice\ndef k():\n    d = defaultdict(list)\n    d['a'].append(1)\n    return d, "
         "list(combinations('abc', 2)), list(permutations([1, 2])), list(islice(range(9), 1, 4)), "
         "list(combinations([], 2))\n",
         "({'a': [1]}, [('a', 'b'), ('a', 'c'), ('b', 'c')], [(1, 2), (2, 1)], [1, 2, 3], [])"},
    };
    check(rows, COUNT_OF(rows));
}

static void statements(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"def k():\n    a, (b, *c), d = 1, (2, 3, 4), 5\n    a += 1; b *= 2\n    x = y = a\n    "
         "return a, b, c, d, x, y\n",
         "(2, 4, [3, 4], 5, 2, 2)"},
        {"def k():\n    r = []\n    for i in range(10):\n        if i % 2: continue\n        if i "
         "> 6: break\n        r.append(i)\n    else:\n        r.append('no')\n    return r\n",
         "[0, 2, 4, 6]"},
        {"def k():\n    n = 0\n    while n < 5:\n        n += 1\n    else:\n        n = -n\n    "
         "return n\n",
         "-5"},
        {"def k():\n    r = []\n    for i, (a, b) in enumerate([(1, 2), (3, 4)]):\n        r += [i "
         "* a + b]\n    return r\n",
         "[2, 7]"},
        {"def k():\n    a = [1, 2, 3, 4]\n    a[1:3] = [9]\n    a[0] += 5\n    b = {'x': [1]}\n    "
         "b['x'][0] = 7\n    del a[-1]\n    return a, b\n",
         "([6, 9], {'x': [7]})"},
        {"def f(a, b=2, *args, c, d=4, **kw):\n    return a, b, args, c, d, kw\ndef k():\n    "
         "return f(1, c=3), f(1, 2, 3, 4, c=5, e=6), f(*[1, 2], **{'c': 3})\n",
         "((1, 2, (), 3, 4, {}), (1, 2, (3, 4), 5, 4, {'e': 6}), (1, 2, (), 3, 4, {}))"},
        {"def k():\n    def counter():\n        n = 0\n        def up(by=1):\n            nonlocal "
         "n\n            n += by\n            return n\n        return up\n    a, b = counter(), "
         "counter()\n    return a(), a(5), b()\n",
         "(1, 6, 1)"},
        {"N = 3\ndef fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\ndef k():\n    return "
         "fact(N)\n",
         "6"},
        {"def k():\n    fs = [lambda i=i: i for i in range(3)]\n    return [f() for f in fs]\n",
         "[0, 1, 2]"},
        {"def g(n):\n    for i in range(n):\n        yield i * i\ndef k():\n    return "
         "list(g(4))\n",
         "[0, 1, 4, 9]"},
        {"def k():\n    try:\n        raise ValueError('bad', 3)\n    except (KeyError, "
         "ValueError) as e:\n        r = str(e)\n    else:\n        r = 'else'\n    finally:\n     "
         "   r += '!'\n    return r\n",
         "('bad', 3)!"},
        {"def k():\n    r = []\n    try:\n        {}['x']\n    except KeyError as e:\n        "
         "r.append('caught')\n    try:\n        try:\n            1 / 0\n        finally:\n        "
         "    r.append('finally')\n    except ArithmeticError:\n        r.append('outer')\n    "
         "return r\n",
         "['caught', 'finally', 'outer']"},
        {"class MyError(Exception):\n    pass\ndef k():\n    try:\n        raise MyError('m')\n    "
         "except ValueError:\n        return 1\n    except Exception as e:\n        return type(e) "
         "is MyError, e.args\n",
         "(True, ('m',))"},
        {"def k():\n    x = 1\n    del x\n    return x\n",
         "k.py:4:12: error: 'x' is used before it has a value on this path [UnboundLocalError]"},
        {"import nki.language as nl\nclass C:\n    def __enter__(self):\n        return 5\n    def "
         "__exit__(self, a, b, c):\n        pass\ndef k():\n    with C() as x, C():\n        "
         "return x\n",
         "5"},
        {"def k():\n    x: int = 3\n    y: int\n    return x\n", "3"},
        {"def k():\n    global G\n    G = 4\n    return h()\ndef h():\n    return G\n", "4"},
        {"global G\nG = 4\ndef k():\n    return G\n", "4"},
        {"def k():\n    import math as m\n    return m.floor(2.5)\n", "2"},
        {"def k():\n    return 1; return 2\n", "1"},
        {"def k():\n    pass\n", "None"},
        {"def k():\n    x = 5\n    if x > 9: return 'a'\n    elif x > 4: return 'b'\n    else: "
         "return 'c'\n",
         "b"},
    };
    check(rows, COUNT_OF(rows));
}

static void classes(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"class A:\n    n = 3\n    def __init__(self, x):\n        self.x = x\n    def f(self, "
         "y):\n        return self.x + y + self.n\n    @property\n    def twice(self):\n        "
         "return self.x * 2\n    @twice.setter\n    def twice(self, v):\n        self.x = v // 2\n "
         "   @staticmethod\n    def s(a):\n        return a\n    @classmethod\n    def "
         "make(cls):\n        return cls(9)\nclass B(A):\n    def f(self, y):\n        return "
         "super().f(y) * 10\ndef k():\n    b = B(1)\n    b.twice = 8\n    return b.f(2), b.twice, "
         "A.s(4), B.make().x, isinstance(b, A), type(b) is B\n",
         "(90, 8, 4, 9, True, True)"},
        {"from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass P:\n    x: "
         "int\n    y: int = 2\n    z: list = field(default_factory=list)\n    def "
         "__post_init__(self):\n        pass\ndef k():\n    p = P(1, z=[5])\n    return p, p == "
         "P(1, 2, [5]), p.y\n",
         "(P(x=1, y=2, z=[5]), True, 2)"},
        {"from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int\ndef "
         "k():\n    P(1).x = 3\n",
         "k.py:6:5: error: P is immutable: its 'x' cannot be assigned [AttributeError]"},
        {"from enum import Enum, IntEnum, auto\nclass C(Enum):\n    RED = 1\n    BLUE = "
         "auto()\nclass N(IntEnum):\n    A = 2\ndef k():\n    return C.RED, C.BLUE.value, "
         "C.RED.name, C(1) is C.RED, C['BLUE'], [c.name for c in C], N.A + 1, C.RED == C.BLUE, N.A "
         "== 2, len(C)\n",
         "(C.RED, 2, 'RED', True, C.BLUE, ['RED', 'BLUE'], 3, False, True, 2)"},
        {"class V:\n    def __init__(self, a): self.a = a\n    def __add__(self, o): return "
         "V(self.a + o.a)\n    def __radd__(self, o): return V(self.a + o)\n    def __eq__(self, "
         "o): return self.a == o.a\n    def __lt__(self, o): return self.a < o.a\n    def "
         "__getitem__(self, i): return self.a * i\n    def __len__(self): return 3\n    def "
         "__call__(self, x): return self.a - x\n    def __repr__(self): return f'V({self.a})'\n    "
         "def __contains__(self, x): return x == self.a\ndef k():\n    v = V(1) + V(2)\n    return "
         "v, 10 + v, v == V(3), v[4], len(v), v(1), 3 in v, sorted([V(2), V(1)]), bool(v), v != "
         "V(3), [x for x in v]\n",
         "(V(3), V(13), True, 12, 3, 2, True, [V(1), V(2)], True, False, [0, 3, 6])"},
        {"class C:\n    def __lt__(self, o): return 'lt'\n    def __eq__(self, o): return [o]\ndef "
         "k():\n    return C() < 1, 2 > C(), C() == 3, C() != 3, 5 if C() < 4 else 6\n",
         "('lt', 'lt', [3], False, 5)"},
        {"from nki.language import NKIObject\nclass K(NKIObject):\n    m: int\n    n: int = 4\n    "
         "opt: str = None\ndef k():\n    a = K(m=1)\n    a.m += 5\n    return a.m, a.n, a.opt\n",
         "(6, 4, None)"},
        {"import nki.language as nl\nfrom dataclasses import dataclass\n@dataclass\nclass "
         "K(nl.NKIObject):\n    m: int\n    n: int\ndef k():\n    a = K(n=1)\n    return a.m, "
         "a.n\n",
         "(None, 1)"},
        {"import nki.language as nl\nfrom dataclasses import dataclass\n@dataclass\nclass "
         "K(nl.NKIObject):\n    m = None\n    n = 4\ndef k():\n    a = K(m=1)\n    return a.m, "
         "a.n\n",
         "(1, 4)"},
        {"from collections import namedtuple\nfrom typing import NamedTuple, Optional\nP = "
         "namedtuple('P', 'x y')\nclass Q(NamedTuple):\n    a: int\n    b: Optional[int] = "
         "None\ndef k():\n    x, y = P(1, y=2)\n    return x, y, Q(3), Q(3).b, P(1, 2)[1], Q(1) == "
         "(1, None), len(P(1, 2))\n",
         "(1, 2, Q(a=3, b=None), None, 2, True, 2)"},
        {"class A:\n    xs = [i * 2 for i in range(3)]\n    y = len(xs)\n    class In:\n        z "
         "= 5\n    def f(self):\n        return self.y\ndef k():\n    return A.xs, A().f(), "
         "A.In.z\n",
         "([0, 2, 4], 3, 5)"},
        {"from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef k():\n    p = P(1, "
         "2)\n    return p._replace(x=5), p._asdict(), p._fields\n",
         "(P(x=5, y=2), {'x': 1, 'y': 2}, ('x', 'y'))"},
        {"from enum import Enum\nclass S(str, Enum):\n    X = 'x'\ndef k():\n    return S.X == "
         "'x', isinstance(S.X, str), isinstance(S.X, int)\n",
         "(True, True, False)"},
        {"class E(Exception):\n    def __init__(self, m, c):\n        super().__init__(m)\n        "
         "self.c = c\ndef k():\n    try:\n        raise E('msg', 3)\n    except E as e:\n        "
         "return str(e), e.c, e.args\n",
         "('msg', 3, ('msg',))"},
        {"class A:\n    def __getattr__(self, n):\n        return n + '?'\ndef k():\n    a = A()\n "
         "   a.b = 1\n    setattr(a, 'c', 2)\n    return a.b, a.c, a.foo\n",
         "(1, 2, 'foo?')"},
    };
    check(rows, COUNT_OF(rows));
}

/* What CPython makes of the same. */
static void matches(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"def f(x):\n"
         "    match x:\n"
         "        case 0 | -1: return 'small'\n"
         "        case 2.5: return 'float'\n"
         "        case 'a' \"b\": return 'text'\n"
         "        case True: return 'true'\n"
         "        case None: return 'none'\n"
         "        case _: return 'else'\n"
         "def k():\n"
         "    return [f(x) for x in (0, -1, 2.5, 'ab', True, None, 7, False)]\n",
         "['small', 'small', 'float', 'text', 'true', 'none', 'else', 'small']"},
        {"class C:\n"
         "    red = 1\n"
         "    blue = 2\n"
         "def f(x):\n"
         "    match x:\n"
         "        case C.red: return 'red'\n"
         "        case C.blue: return 'blue'\n"
         "        case y: return y\n"
         "def k():\n"
         "    return f(1), f(2), f(3)\n",
         "('red', 'blue', 3)"},
        {"def f(x):\n"
         "    match x:\n"
         "        case []: return 'empty'\n"
         "        case [a]: return a\n"
         "        case (a, [b, c]): return a, b, c\n"
         "        case [1, *_, 9]: return 'ends'\n"
         "        case a, b, *rest: return a, b, rest\n"
         "        case [*rest]: return rest\n"
         "        case str(): return 'str'\n"
         "        case _: return 'none'\n"
         "def k():\n"
         "    return [f(x) for x in ([], (1,), [1, (2, 3)], [1, 2, 9], (1, 2, 3, 4), range(3), "
         "'ab', {1: 2})]\n",
         "['empty', 1, (1, 2, 3), 'ends', (1, 2, [3, 4]), (0, 1, [2]), 'str', 'none']"},
        {"def f(d):\n"
         "    match d:\n"
         "        case {'op': 'add', 'args': [a, b]}: return a + b\n"
         "        case {'op': 'neg', **rest}: return rest\n"
         "        case {1: x, 'y': {}}: return x\n"
         "        case {}: return 'dict'\n"
         "        case _: return 'no'\n"
         "def k():\n"
         "    return [f(x) for x in ({'op': 'add', 'args': (1, 2)}, {'op': 'neg', 'v': 3}, {1: 5, "
         "'y': {2: 3}}, {}, {3}, [])]\n",
         "[3, {'v': 3}, 5, 'dict', 'no', 'no']"},
        {"from dataclasses import dataclass\n"
         "from collections import namedtuple\n"
         "@dataclass\n"
         "class P:\n"
         "    x: int\n"
         "    y: int = 0\n"
         "@dataclass\n"
         "class Q(P):\n"
         "    z: int = 4\n"
         "class A:\n"
         "    __match_args__ = ('n',)\n"
         "    def __init__(self, n): self.n = n\n"
         "N = namedtuple('N', 'a b')\n"
         "def f(v):\n"
         "    match v:\n"
         "        case Q(x, z=4): return 'q', x\n"
         "        case P(0, 0): return 'origin'\n"
         "        case P(x, y=P() as inner): return x, inner.x\n"
         "        case P(y=y, x=1 | 2): return y\n"
         "        case A(int(n)): return n\n"
         "        case A(n=str() as s): return s\n"
         "        case N(1, b): return b\n"
         "        case int(n) | float(n) if n > 100: return 'big'\n"
         "        case int() | float(): return 'number'\n"
         "        case tuple((a, b)): return a\n"
         "        case list(l): return l\n"
         "        case dict(): return 'dict'\n"
         "        case bool: return 'other'\n"
         "def k():\n"
         "    return [f(x) for x in (Q(1), P(0), P(7, P(3)), P(2, 5), A(4), A('s'), N(1, 2), 500, "
         "1.5, True, (8, 9), [1], {}, None)]\n",
         "[('q', 1), 'origin', (7, 3), 5, 4, 's', 2, 'big', 'number', 'number', 8, [1], 'dict', "
         "'other']"},
        {"def k():\n"
         "    out = []\n"
         "    for i in range(6):\n"
         "        match i:\n"
         "            case 0: continue\n"
         "            case n if n % 2: out.append(n)\n"
         "            case 4: break\n"
         "            case (2 | 3) as m:\n"
         "                out.append(('m', m))\n"
         "    return out, n, m\n",
         "([1, ('m', 2), 3], 4, 2)"},
        {"def f(x):\n"
         "    y = 0\n"
         "    match x:\n"
         "        case [y, 1]: pass\n"
         "        case (y, 2) if y > 5: pass\n"
         "    return y\n"
         "def k():\n"
         "    return f([3, 1]), f([3, 9]), f([3, 2]), f([7, 2])\n",
         "(3, 0, 3, 7)"},
        {"def k():\n"
         "    match = [1, 2]\n"
         "    case = match[0]\n"
         "    _ = 3\n"
         "    match match, case:\n"
         "        case [1, _], 1: got = 'a'\n"
         "        case [1, 2], 1: got = 'b'\n"
         "    match[0] = 5\n"
         "    match (case):\n"
         "        case 1: pass\n"
         "    return match, got, _\n",
         "([5, 2], 'a', 3)"},
        {"from enum import Enum\n"
         "class E(Enum):\n"
         "    A = 'a'\n"
         "    B = 'b'\n"
         "def f(x):\n"
         "    match x:\n"
         "        case E.A: return 1\n"
         "        case E(): return 2\n"
         "        case -1.5 | 'é': return 3\n"
         "        case None | (False): return 4\n"
         "    return 5\n"
         "def k():\n"
         "    return [f(x) for x in (E.A, E.B, -1.5, 'é', None, False, 0)]\n",
         "[1, 2, 3, 3, 4, 4, 5]"},
        {"class A:\n"
         "    pass\n"
         "def f(x):\n"
         "    try:\n"
         "        match x:\n"
         "            case A(1): return 1\n"
         "    except TypeError:\n"
         "        return 'type'\n"
         "def g(x):\n"
         "    try:\n"
         "        match x:\n"
         "            case f(): return 1\n"
         "    except TypeError:\n"
         "        return 'class'\n"
         "def k():\n"
         "    return f(A()), f(2), g(1)\n",
         "('type', None, 'class')"},
    };
    check(rows, COUNT_OF(rows));
}

static void modules(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"import torch\nimport torch.nn as nn\nfrom foo.bar import baz\nx = torch.zeros(3)\nclass "
         "M(nn.Module):\n    pass\ndef other(a=torch.float32):\n    return torch.x(a)\nN = 8\nif "
         "__name__ == '__main__':\n    N = 9\ndef k():\n    return N\n",
         "8"},
        {"import torch\nx = torch.zeros(3)\ndef k():\n    return x\n",
         "k.py:4:12: error: 'x' has no value: the statement in line 2 failed (torch.zeros is not "
         "known here: it is no part of NKI and in no file beside the kernel) [hone-gap-module]"},
        {"import numpy_\ndef k():\n    return numpy_.foo(3)\n",
         "k.py:3:12: error: numpy_.foo is not known here: it is no part of NKI and in no file "
         "beside the kernel [hone-gap-module]"},
        {"while True:\n    pass\nX = 4\ndef k():\n    return X\n", "4"},
        {"from nki.language import *\ndef k():\n    return float32\n", "float32"},
        {"import nki.language as nl\nTILE = 128\nHALF = TILE // 2\ndef k():\n    return HALF, "
         "nl.float32\n",
         "(64, float32)"},
    };
    check(rows, COUNT_OF(rows));
}

/* What Python can and hone cannot is hone's gap, and nothing of the kernel takes it for an error.
 */
static void what_is_missing_here_is_no_error_of_the_kernel(void **state) {
    (void)state;
    static const char *const sources[] = {
        "import math\ndef k():\n    return math.sumprod([1], [2])\n",
        "import itertools\ndef k():\n    return itertools.count(3)\n",
        "import operator\ndef k():\n    return operator.itemgetter(1)\n",
        "from dataclasses import make_dataclass\ndef k():\n    return make_dataclass('C', [])\n",
        "def k():\n    return complex(1, 2)\n",
        "def k():\n    return dict.fromkeys('ab', 0)\n",
        "def k():\n    return 'a'.isascii()\n",
        "class A: pass\ndef k():\n    return A.__mro__\n",
        "class A: pass\ndef k():\n    return A().__weakref__\n",
        "def g():\n    yield 1\ndef k():\n    return g().send(None)\n",
        "def k():\n    return slice(1).indices(4)\n",
        "def k():\n    return 2 ** 100\n",
        "import math\ndef k():\n    return math.factorial(21)\n",
        "import math\ndef k():\n    try:\n        return math.sumprod([1], [2])\n"
        "    except Exception:\n        return 1\n",
    };
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        const char *result = value_of(sources[i]);
        if (!strstr(result, "[hone-gap-"))
            print_error("%s\n%s\n", sources[i], result);
        assert_non_null(strstr(result, "[hone-gap-"));
    }
    static const struct row rows[] = {
        {"import math\ndef k():\n    return math.comb(5, 2), math.perm(5, 2), math.perm(4), "
         "math.comb(60, 30), math.comb(2, 3)\n",
         "(10, 20, 24, 118264581564861424, 0)"},
        {"import math\ndef k():\n    try:\n        return math.factorial(-1)\n"
         "    except ValueError:\n        return 'no'\n",
         "no"},
        {"{1, 2}.isdisjoint([3]), {1, 2}.isdisjoint({2})", "(True, False)"},
        {"class I:\n    def __index__(self): return 2\ndef k():\n    return [1, 2, 3][I()]\n", "3"},
        {"class M:\n    def __init__(self, t): self.t = t; self.got = None\n"
         "    def __enter__(self): return self\n"
         "    def __exit__(self, kind, value, trace):\n"
         "        self.got = kind and kind.__name__\n        return self.t\n"
         "def k():\n    a, b, c = M(True), M(False), M(False)\n"
         "    with a:\n        raise ValueError('x')\n"
         "    try:\n        with b:\n            [][1]\n"
         "    except IndexError:\n        pass\n"
         "    with c:\n        pass\n"
         "    return a.got, b.got, c.got\n",
         "('ValueError', 'IndexError', None)"},
    };
    check(rows, COUNT_OF(rows));
}

static void write(const char *folder, const char *name, const char *text) {
    char *path = path_join(folder, name);
    struct err err = {0};
    assert_true(file_write(path, text, strlen(text), &err));
    mem_free_(path);
}

static void said(const struct diag_list *diags, size_t at, const char *file, int line,
                 const char *text) {
    assert_true(diags->all.len > at);
    assert_string_equal(path_base(diags->all.at[at].file), file);
    assert_int_equal(diags->all.at[at].line, line);
    assert_non_null(strstr(diags->all.at[at].message, text));
}

static void files_beside_the_kernel_are_modules(void **state) {
    (void)state;
    struct err err = {0};
    struct diag_list diags = {0};
    char folder[] = "/tmp/hone_test_import_XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *package = path_join(folder, "pkg");
    assert_true(file_make_dirs(package, &err));
    write(folder, "kernel.py",
          "import helper\nimport helper as h, later\n"
          "from helper import TILE, load as ld\nfrom pkg.inner import f\n"
          "from pkg import inner, VERSION\nimport pkg.inner as pi\n"
          "def k():\n    return helper.TILE, h.load(2), TILE, ld(3), f(1), "
          "inner.f(2), VERSION, pi.UP\n"
          "def b():\n    import broken\n"
          "def g():\n    import gap\n"
          "def t():\n    try:\n        import broken\n"
          "    except SyntaxError:\n        return 1\n"
          "def n():\n    return later.size()\n"
          "def o():\n    return later.SIZE\n"
          "def e():\n    return h.load('a')\n");
    write(folder, "helper.py",
          "import kernel\nimport torch\nTILE = 128\n"
          "def load(x):\n    return scale(x)\n"
          "def scale(x):\n    return x * TILE / 1\n"
          "if __name__ == '__main__':\n    TILE = 0\n");
    write(folder, "broken.py", "y = 1\nx = (\n");
    write(folder, "gap.py", "try:\n    pass\nexcept* E:\n    pass\n");
    write(folder, "later.py", "def size():\n    return SIZE\nSIZE = unknown.x\n");
    write(package, "__init__.py", "VERSION = 'v'\n");
    write(package, "inner.py",
          "from ..helper import TILE as UP\nfrom . import VERSION\n"
          "def f(x):\n    return (x, UP, VERSION)\n");
    char *path = path_join(folder, "kernel.py");
    struct nki_tree *tree = nki_parse_file(path, &diags, &err);
    struct nki_specialise_options options = {.function = "k"};
    buf_clear(&returned);
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    for (size_t i = 0; i < diags.all.len; i++)
        print_error("%s\n", diags.all.at[i].message);
    assert_non_null(program);
    assert_string_equal(returned.at, "(128, 256.0, 128, 384.0, (1, 128, 'v'), (2, 128, 'v'), "
                                     "'v', 128)");
    nki_program_free(program);
    options.function = "b";
    assert_null(nki_specialise(tree, &options, &diags));
    said(&diags, 0, "broken.py", 2, "'(' is never closed; expected ')'"); /* Python says that */
    said(&diags, 1, "kernel.py", 10, "needed here");
    options.function = "g";
    assert_null(nki_specialise(tree, &options, &diags));
    said(&diags, 2, "gap.py", 3, "hone does not know groups");
    said(&diags, 3, "kernel.py", 12, "needed here");
    options.function = "t"; /* it catches what Python would raise */
    nki_program_free(program = nki_specialise(tree, &options, &diags));
    assert_non_null(program);
    options.function = "n";
    assert_null(nki_specialise(tree, &options, &diags));
    said(&diags, 4, "later.py", 2, "'SIZE' has no value: the statement in line 3 failed");
    said(&diags, 5, "kernel.py", 19, "in size, called from line 19");
    options.function = "o";
    assert_null(nki_specialise(tree, &options, &diags));
    said(&diags, 6, "later.py", 3, "name 'unknown' is not defined");
    said(&diags, 7, "kernel.py", 21, "needed here");
    options.function = "e";
    assert_null(nki_specialise(tree, &options, &diags));
    said(&diags, 8, "helper.py", 7, "");
    nki_tree_free(tree);
    diag_free(&diags);
    mem_free_(path);
    mem_free_(package);
    assert_true(file_remove_tree(folder, &err));
}

static void tensors_reach_the_language(void **state) {
    (void)state;
    struct nki_input input = {.kind = NKI_INPUT_ARRAY};
    struct nki_specialise_options options = {.inputs = &input, .n_inputs = 1};
    const char *result = run_with("import nki.language as nl\n"
                                  "def helper(x):\n    return nl.load(x)\n"
                                  "def k(x):\n"
                                  "    M, N = x.shape\n"
                                  "    a = nl.load(x[0:M, :], dtype=nl.float32)\n"
                                  "    b = helper(a)\n"
                                  "    x[...] = a + b\n"
                                  "    a += 1\n"
                                  "    x[0] *= 2\n"
                                  "    with nl.load:\n        pass\n"
                                  "    return x is not None, x == None, M, N\n",
                                  &options);
    assert_string_equal(result, "(True, False, 128, 512)");
    assert_string_equal(seen.at, "get[(slice(0, 128, None), slice(None, None, None))] load(a) "
                                 "load(b) binary(+) set inplace(+) get[0] inplace(*) enter leave ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions),
        cmocka_unit_test(strings),
        cmocka_unit_test(builtins),
        cmocka_unit_test(statements),
        cmocka_unit_test(classes),
        cmocka_unit_test(matches),
        cmocka_unit_test(modules),
        cmocka_unit_test(what_is_missing_here_is_no_error_of_the_kernel),
        cmocka_unit_test(files_beside_the_kernel_are_modules),
        cmocka_unit_test(tensors_reach_the_language),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_free(&returned);
    buf_free(&seen);
    return failed;
}
