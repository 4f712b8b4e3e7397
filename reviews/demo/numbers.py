"""Draw the numbers of the demo tasks: those of the question, of its answer, and of typical mistakes."""

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

Numbers = dict[str, object]


def _integral(rng: Random) -> Numbers:
    k = rng.randint(3, 7)
    return {"k": k, "a": k - 1, "b": k + 1, "s": k * k}


def _range(rng: Random) -> Numbers:
    v, angle = 2 * rng.randint(6, 20), rng.choice([15, 30, 45])
    right = v**2 * math.sin(math.radians(2 * angle)) / 9.81
    wrong = v**2 * math.sin(math.radians(angle)) / 9.81
    up = v * math.sin(math.radians(angle)) / 9.81
    return {
        "v": v,
        "angle": angle,
        "double": 2 * angle,
        "up": f"{up:.2f}",
        "right": f"{right:.1f}",
        "wrong": f"{wrong:.1f}",
        "half": f"{right / 2:.1f}",
    }


def _multiples(rng: Random) -> Numbers:
    a, b = rng.choice([(3, 5), (4, 7), (3, 8), (5, 6), (4, 9)])
    n = b * rng.randint(20, 120)

    def total(step: int) -> int:
        count = (n - 1) // step
        return step * count * (count + 1) // 2

    return {
        "a": a,
        "b": b,
        "ab": a * b,
        "n": n,
        "sa": total(a),
        "sb": total(b),
        "sab": total(a * b),
        "right": total(a) + total(b) - total(a * b),
        "twice": total(a) + total(b),
        "upto": total(a) + total(b) - total(a * b) + n,
    }


def _search(rng: Random) -> Numbers:
    k = rng.randint(8, 20)
    return {"k": k, "n": f"{2**k}", "right": k + 1, "half": 2 ** (k - 1)}


def _eigenvalues(rng: Random) -> Numbers:
    b = rng.randint(2, 5)
    a = b + rng.randint(1, 6)
    return {"a": a, "b": b, "low": a - b, "high": a + b, "bb": b * b}


def _capacitor(rng: Random) -> Numbers:
    r, c, n = rng.choice([10, 22, 47, 68, 100]), rng.choice([10, 22, 47, 100]), rng.choice([3, 5, 10, 20])
    tau = r * c / 1000
    return {
        "r": r,
        "c": c,
        "n": n,
        "tau": f"{tau:.3f}",
        "right": f"{tau * math.log(n):.2f}",
        "ms": f"{tau * math.log(n) * 1000:.0f}",
        "wrong": f"{tau * math.log10(n):.2f}",
    }


def _balls(rng: Random) -> Numbers:
    red, blue = rng.randint(3, 9), rng.randint(3, 9)
    n = red + blue
    right = Fraction(red * (red - 1) + blue * (blue - 1), n * (n - 1))
    return {
        "red": red,
        "blue": blue,
        "n": n,
        "m": n - 1,
        "rr": red - 1,
        "bb": blue - 1,
        "right": _latex(right),
        "decimal": f"{float(right):.4f}",
        "back": _latex(Fraction(red**2 + blue**2, n**2)),
        "only": _latex(Fraction(red * (red - 1), n * (n - 1))),
    }


def _recurrence(rng: Random) -> Numbers:
    a, b, c, right, wrong = rng.choice(
        [
            (4, 2, 1, "n^2", r"n^2 \log n"),
            (8, 2, 2, "n^3", r"n^2 \log n"),
            (9, 3, 1, "n^2", r"n \log n"),
            (16, 4, 1, "n^2", r"n \log n"),
            (27, 3, 2, "n^3", r"n^2 \log n"),
        ]
    )
    return {"a": a, "b": b, "c": c, "e": round(math.log(a, b)), "right": right, "wrong": wrong}


def _power(rng: Random) -> Numbers:
    while True:
        p, a, n = rng.choice([11, 13, 17, 19, 23]), rng.choice([2, 3, 5, 7]), rng.randint(80, 400)
        right, wrong = pow(a, n, p), pow(a, n % p, p)
        if right != wrong and n % (p - 1) > 1 and n % p > 1:
            return {
                "p": p,
                "q": p - 1,
                "a": a,
                "n": n,
                "r": n % (p - 1),
                "w": n % p,
                "right": right,
                "wrong": wrong,
            }


def _lens(rng: Random) -> Numbers:
    f = rng.choice([10, 12, 15, 20, 25])
    u = f + rng.choice([5, 6, 10, 15, 30])
    right = Fraction(u * f, u - f)
    return {
        "f": f,
        "u": u,
        "gap": u - f,
        "uf": u * f,
        "right": _latex(right),
        "decimal": f"{float(right):.2f}",
        "wrong": _latex(Fraction(u * f, u + f)),
    }


def _limit(rng: Random) -> Numbers:
    a = rng.randint(3, 11)
    return {
        "a": a,
        "s": a * a,
        "right": _latex(Fraction(a * a, 2)),
        "decimal": a * a / 2,
        "wrong": _latex(Fraction(a, 2)),
    }


def _complement(rng: Random) -> Numbers:
    n = rng.randint(9, 120)
    return {
        "n": n,
        "plain": f"{n:08b}",
        "flipped": f"{255 - n:08b}",
        "right": f"{256 - n:08b}",
        "sign": f"{128 + n:08b}",
    }


def _fence(rng: Random) -> Numbers:
    length = 8 * rng.randint(4, 25)
    return {
        "l": length,
        "side": length // 4,
        "long": length // 2,
        "right": length**2 // 8,
        "square": length**2 // 16,
    }


def _test(rng: Random) -> Numbers:
    p, s, f = rng.choice([1, 2, 3, 5]), rng.choice([90, 92, 95, 98]), rng.choice([4, 5, 8, 10])
    ill, well = p * s, (100 - p) * f
    right = Fraction(ill, ill + well)
    return {
        "p": p,
        "s": s,
        "f": f,
        "healthy": 100 - p,
        "ill": ill,
        "well": well,
        "both": ill + well,
        "right": _latex(right),
        "percent": f"{100 * float(right):.1f}",
    }


def _paths(rng: Random) -> Numbers:
    m, n = rng.randint(5, 8), rng.randint(4, 7)
    p, q = rng.randint(2, m - 2), rng.randint(1, n - 2)
    there, on = math.comb(p + q, p), math.comb(m + n - p - q, m - p)
    everything = math.comb(m + n, m)
    return {
        "m": m,
        "n": n,
        "mn": m + n,
        "p": p,
        "q": q,
        "pq": p + q,
        "restx": m - p,
        "rest": m + n - p - q,
        "all": everything,
        "there": there,
        "on": on,
        "through": there * on,
        "right": everything - there * on,
        "wrong": everything - there - on,
    }


def _collision(rng: Random) -> Numbers:
    light, heavy, v = rng.randint(1, 4), rng.randint(4, 9), 2 * rng.randint(2, 6)
    both = light + heavy
    right = Fraction(light * heavy * v**2, 2 * both)
    return {
        "light": light,
        "heavy": heavy,
        "both": both,
        "v": v,
        "p": light * v,
        "w": _latex(Fraction(light * v, both)),
        "before": light * v**2 // 2,
        "after": _latex(Fraction((light * v) ** 2, 2 * both)),
        "right": _latex(right),
        "decimal": f"{float(right):.2f}",
    }


def _latex(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


_ALL: tuple[Callable[[Random], Numbers], ...] = (
    *(_integral, _range, _multiples, _search, _eigenvalues, _capacitor, _balls, _recurrence),
    *(_power, _lens, _limit, _complement, _fence, _test, _paths, _collision),
)
#: By the names of the tasks in tasks.toml.
NUMBERS = {draw.__name__.removeprefix("_"): draw for draw in _ALL}
