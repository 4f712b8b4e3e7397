"""Tasks of the demo run in mathematics: their numbers, their prose, their mistakes."""

import math
from fractions import Fraction
from random import Random

from reviews.demo.tasks import Mistake, Numbers, Pattern, Task, latex


def _integral(rng: Random) -> Numbers:
    k = rng.randint(3, 7)
    return {"k": k, "a": k - 1, "b": k + 1, "s": k * k}


_INTEGRAL = Task(
    asked=r"evaluate $\int_0^1 x e^{@k x}\,dx$",
    assumes="the integrand is continuous on $[0, 1]$",
    method="integration by parts",
    steps=(
        r"Take $u = x$ and $dv = e^{@k x}\,dx$, so that $v = \frac{1}{@k} e^{@k x}$.",
        (
            r"Then $$\int_0^1 x e^{@k x}\,dx = \left[\frac{x e^{@k x}}{@k}\right]_0^1"
            r" - \frac{1}{@k}\int_0^1 e^{@k x}\,dx.$$"
        ),
        r"The remaining integral is $\frac{e^{@k} - 1}{@k}$.",
        r"Together: $\frac{e^{@k}}{@k} - \frac{e^{@k} - 1}{@s} = \frac{@a e^{@k} + 1}{@s}$.",
    ),
    result=r"\frac{e^{@k}}{@k} - \frac{e^{@k} - 1}{@s}",
    answer=r"\frac{@a e^{@k} + 1}{@s}",
    respelled="(@a e^@k + 1)/@s",
    mistakes=(
        Mistake(
            3,
            r"Together: $\frac{e^{@k}}{@k} + \frac{e^{@k} - 1}{@s} = \frac{@b e^{@k} - 1}{@s}$.",
            r"\frac{@b e^{@k} - 1}{@s}",
            r"the minus sign of the formula for parts is lost where the two terms $\frac{e^{@k}}{@k}$ and"
            r" $\frac{e^{@k} - 1}{@s}$ are put together",
        ),
        Mistake(
            2,
            r"The remaining integral is $\frac{e^{@k}}{@k}$, which gives"
            r" $\frac{e^{@k}}{@k} - \frac{e^{@k}}{@s}$.",
            r"\frac{@a e^{@k}}{@s}",
            r"the lower limit of $\int_0^1 e^{@k x}\,dx$ is left out, although $e^0 = 1$",
        ),
    ),
)


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


_MULTIPLES = Task(
    asked="find the sum of all positive integers below @n that are multiples of @a or of @b",
    assumes="the number @n itself does not count",
    method="inclusion and exclusion",
    steps=(
        r"The multiples of @a below @n add up to $@a \sum_{k=1}^{\lfloor (@n-1)/@a \rfloor} k = @sa$.",
        r"The multiples of @b add up to $@sb$ in the same way.",
        r"Divisible by both are the multiples of $\operatorname{lcm}(@a, @b) = @ab$; their sum is $@sab$.",
        r"By inclusion and exclusion the sum is $@sa + @sb - @sab = @right$.",
    ),
    result="@sa + @sb - @sab",
    answer="@right",
    respelled="S = @right",
    mistakes=(
        Mistake(
            2,
            r"So the sum is $@sa + @sb = @twice$.",
            "@twice",
            r"the multiples of $@ab$ are counted twice: $@sab$ has to be taken off",
        ),
        Mistake(
            0,
            r"Adding the multiples of @a and of @b up to @n and taking off those of $@ab$ gives $@upto$.",
            "@upto",
            r"$@n$ is included, although the question says below $@n$",
        ),
    ),
)


def _eigenvalues(rng: Random) -> Numbers:
    b = rng.randint(2, 5)
    a = b + rng.randint(1, 6)
    return {"a": a, "b": b, "low": a - b, "high": a + b, "bb": b * b}


_EIGENVALUES = Task(
    asked=r"find the eigenvalues of $\begin{pmatrix} @a & @b \\ @b & @a \end{pmatrix}$",
    assumes="eigenvalues are counted over the real numbers",
    method="the characteristic polynomial",
    steps=(
        r"The characteristic polynomial is $\det(A - \lambda I) = (@a - \lambda)^2 - @bb$.",
        r"It vanishes where $@a - \lambda = \pm @b$.",
        r"So $\lambda_1 = @low$ and $\lambda_2 = @high$, with eigenvectors $(1, -1)^T$ and $(1, 1)^T$.",
    ),
    result=r"(@a - \lambda)^2 - @bb",
    answer=r"\lambda_1 = @low,\ \lambda_2 = @high",
    respelled=r"$\{@low, @high\}$",
    mistakes=(
        Mistake(
            0,
            r"$\det(A - \lambda I) = (@a - \lambda)^2 + @bb = 0$ has no real roots,"
            r" so $\lambda = @a \pm @b i$.",
            r"\lambda = @a \pm @b i",
            r"the determinant is $(@a - \lambda)^2 - @bb$;"
            r" a real symmetric matrix cannot have complex eigenvalues",
        ),
    ),
)


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
        "right": latex(right),
        "decimal": f"{float(right):.4f}",
        "back": latex(Fraction(red**2 + blue**2, n**2)),
        "only": latex(Fraction(red * (red - 1), n * (n - 1))),
    }


_BALLS = Task(
    asked="find the probability that two balls drawn from @red red and @blue blue ones have the same colour",
    assumes="the balls are drawn at random and without replacement",
    method="counting cases",
    steps=(
        r"Both red: $\frac{@red}{@n} \cdot \frac{@rr}{@m}$.",
        r"Both blue: $\frac{@blue}{@n} \cdot \frac{@bb}{@m}$.",
        (
            r"The cases exclude each other, so"
            r" $$P = \frac{@red \cdot @rr + @blue \cdot @bb}{@n \cdot @m} = @right.$$"
        ),
    ),
    result=r"\frac{@red}{@n} \cdot \frac{@rr}{@m}",
    answer="@right",
    respelled=r"$P \approx @decimal$",
    mistakes=(
        Mistake(
            0,
            r"Both red: $\left(\frac{@red}{@n}\right)^2$; both blue: $\left(\frac{@blue}{@n}\right)^2$;"
            r" the sum is $@back$.",
            "@back",
            r"the second ball is drawn from all $@n$ balls, although the first is not put back",
        ),
        Mistake(
            1,
            r"So the probability is $@only$.",
            "@only",
            "two balls of the same colour may also be blue, and that case is missing",
        ),
    ),
)


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


_POWER = Task(
    asked=r"find the remainder of $@a^{@n}$ on division by $@p$",
    assumes=r"$@p$ is prime and does not divide $@a$",
    method="Fermat's little theorem",
    steps=(
        r"By Fermat, $@a^{@q} \equiv 1 \pmod{@p}$.",
        r"Since $@n \equiv @r \pmod{@q}$, we have $@a^{@n} \equiv @a^{@r} \pmod{@p}$.",
        r"Squaring repeatedly gives $@a^{@r} \equiv @right \pmod{@p}$.",
    ),
    result=r"@a^{@n} \equiv @a^{@r} \pmod{@p}",
    answer="@right",
    respelled=r"$@right \pmod{@p}$",
    mistakes=(
        Mistake(
            1,
            r"Since $@n \equiv @w \pmod{@p}$, we get $@a^{@n} \equiv @a^{@w} \equiv @wrong \pmod{@p}$.",
            "@wrong",
            r"the exponent is reduced modulo $@p$ and not modulo $\varphi(@p) = @q$",
        ),
    ),
)


def _limit(rng: Random) -> Numbers:
    a = rng.randint(3, 11)
    return {
        "a": a,
        "s": a * a,
        "right": latex(Fraction(a * a, 2)),
        "decimal": a * a / 2,
        "wrong": latex(Fraction(a, 2)),
    }


_LIMIT = Task(
    asked=r"find $\lim_{x \to 0} \frac{1 - \cos @a x}{x^2}$",
    assumes="$x$ is in radians",
    method="the half-angle identity",
    steps=(
        r"Write $1 - \cos @a x = 2 \sin^2 \frac{@a x}{2}$.",
        r"Then $$\frac{1 - \cos @a x}{x^2} = \frac{@s}{2} \left(\frac{\sin(@a x/2)}{@a x/2}\right)^2.$$",
        r"Since $\frac{\sin t}{t} \to 1$, the limit is $@right$.",
    ),
    result=r"\frac{@s}{2} \left(\frac{\sin(@a x/2)}{@a x/2}\right)^2",
    answer="@right",
    respelled="@decimal",
    mistakes=(
        Mistake(
            0,
            r"Both $1 - \cos @a x$ and $x^2$ tend to $0$, so the limit is $0$.",
            "0",
            r"$\frac{0}{0}$ is no value; numerator and denominator vanish to the same order",
        ),
        Mistake(
            1,
            r"The quotient tends to $\frac{@a}{2}$, as $\sin \frac{@a x}{2} \approx \frac{@a x}{2}$.",
            "@wrong",
            r"the factor $@a$ is squared together with the sine, so $\frac{@s}{2}$ has to come out",
        ),
    ),
)


def _fence(rng: Random) -> Numbers:
    length = 8 * rng.randint(4, 25)
    return {
        "l": length,
        "side": length // 4,
        "long": length // 2,
        "right": length**2 // 8,
        "square": length**2 // 16,
    }


_FENCE = Task(
    asked="find the largest rectangular area that @l m of fence can enclose against a straight wall",
    assumes="the wall is long enough to be one whole side and needs no fence",
    method="optimisation",
    steps=(
        r"Let $x$ be each of the two sides that meet the wall; the third is $@l - 2x$.",
        r"The area is $A(x) = x(@l - 2x)$ for $0 < x < @long$.",
        r"$A'(x) = @l - 4x = 0$ gives $x = @side$, and $A''(x) = -4 < 0$, so this is the maximum.",
        r"The area is $@side \cdot @long = @right\ \text{m}^2$.",
    ),
    result="A(x) = x(@l - 2x)",
    answer=r"@right\ \text{m}^2",
    respelled="@right square metres",
    mistakes=(
        Mistake(
            0,
            r"Of all rectangles the square is the largest, so each side is $@l / 4 = @side$"
            r" and the area $@side^2 = @square$.",
            r"@square\ \text{m}^2",
            "the wall is forgotten: only three sides need a fence, and the best rectangle is no square",
        ),
    ),
)


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


_PATHS = Task(
    asked="count the shortest grid paths from $(0, 0)$ to $(@m, @n)$ that avoid the point $(@p, @q)$",
    assumes="every step goes one unit right or up",
    method="counting the paths through the point",
    steps=(
        r"There are $\binom{@mn}{@m} = @all$ paths in all.",
        r"To $(@p, @q)$ lead $\binom{@pq}{@p} = @there$, and on from there $\binom{@rest}{@restx} = @on$.",
        r"So $@there \cdot @on = @through$ paths go through the point.",
        r"That leaves $@all - @through = @right$.",
    ),
    result=r"@there \cdot @on = @through",
    answer="@right",
    respelled="@all - @through = @right",
    mistakes=(
        Mistake(
            2,
            r"Taking both off leaves $@all - @there - @on = @wrong$.",
            "@wrong",
            r"the paths to the point and on from it have to be multiplied: $@there \cdot @on = @through$",
        ),
    ),
)


PATTERNS = (
    Pattern(_integral, _INTEGRAL),
    Pattern(_multiples, _MULTIPLES),
    Pattern(_eigenvalues, _EIGENVALUES),
    Pattern(_balls, _BALLS),
    Pattern(_power, _POWER),
    Pattern(_limit, _LIMIT),
    Pattern(_fence, _FENCE),
    Pattern(_paths, _PATHS),
)
