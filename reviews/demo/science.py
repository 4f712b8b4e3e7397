"""Tasks of the demo run in physics, computing and statistics: their numbers, their prose, their mistakes."""

import math
from fractions import Fraction
from random import Random

from reviews.demo.tasks import Mistake, Numbers, Pattern, Task, latex


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


_RANGE = Task(
    asked=r"find how far a ball thrown at $@v\ \text{m/s}$ and @angle degrees above level ground flies",
    assumes=r"there is no air resistance and $g = 9.81\ \text{m/s}^2$",
    method="the equations of projectile motion",
    steps=(
        r"The ball rises for $t = \frac{v \sin\theta}{g} = @up\ \text{s}$ and falls for as long.",
        r"Meanwhile it travels $$R = 2 t\, v \cos\theta = \frac{v^2 \sin 2\theta}{g}.$$",
        r"With $2\theta = @double^\circ$ this is $R = @right\ \text{m}$.",
    ),
    result=r"\frac{v^2 \sin 2\theta}{g}",
    answer=r"@right\ \text{m}",
    respelled="R = @right metres",
    mistakes=(
        Mistake(
            1,
            r"The range is $R = \frac{v^2 \sin\theta}{g} = @wrong\ \text{m}$.",
            r"@wrong\ \text{m}",
            r"the range holds $\sin 2\theta$, not $\sin\theta$",
        ),
        Mistake(
            1,
            r"In that time it travels $R = t\, v \cos\theta = @half\ \text{m}$.",
            r"@half\ \text{m}",
            "only the time of the rise is counted, and the ball still has to come down",
        ),
    ),
)


def _search(rng: Random) -> Numbers:
    k = rng.randint(8, 20)
    return {"k": k, "n": f"{2**k}", "right": k + 1, "half": 2 ** (k - 1)}


_SEARCH = Task(
    asked="find how many elements a binary search among @n sorted ones looks at in the worst case",
    assumes="each look tells smaller, equal or larger",
    method="counting how the range shrinks",
    steps=(
        r"Each look at the middle leaves at most $\lfloor n/2 \rfloor$ elements: from $@n$ at most $@half$.",
        r"After $@k$ looks one element is left, since $2^{@k} = @n$.",
        r"That one has to be looked at as well: $\lfloor \log_2 @n \rfloor + 1 = @right$.",
    ),
    result=r"2^{@k} = @n",
    answer="@right",
    respelled="@right comparisons",
    mistakes=(
        Mistake(
            2,
            r"So the search ends after $\log_2 @n = @k$ looks.",
            "@k",
            "the last remaining element is never looked at, so the count is one short",
        ),
    ),
)


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


_CAPACITOR = Task(
    asked=r"find when a $@c\ \mu\text{F}$ capacitor discharging through $@r\ \text{k}\Omega$ is down to"
    r" $\frac{1}{@n}$ of its voltage",
    assumes="the parts are ideal and nothing else is in the circuit",
    method="solving the discharge equation",
    steps=(
        r"The voltage falls as $V(t) = V_0 e^{-t/\tau}$ with $\tau = RC = @tau\ \text{s}$.",
        r"$V(t) = \frac{V_0}{@n}$ means $e^{-t/\tau} = \frac{1}{@n}$, that is $t = \tau \ln @n$.",
        r"So $t = @right\ \text{s}$.",
    ),
    result=r"t = \tau \ln @n",
    answer=r"@right\ \text{s}",
    respelled="@ms ms",
    mistakes=(
        Mistake(
            1,
            r"Taking logarithms, $t = \tau \log_{10} @n = @wrong\ \text{s}$.",
            r"@wrong\ \text{s}",
            r"the logarithm to base 10 is taken where $e^{-t/\tau}$ asks for the natural one",
        ),
    ),
)


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


_RECURRENCE = Task(
    asked=r"solve $T(n) = @a\,T(n/@b) + n^{@c}$ up to a constant factor",
    assumes=r"$T(1)$ is constant and $n$ is a power of $@b$",
    method="the master theorem",
    steps=(
        r"Here $\log_{@b} @a = @e$, so the leaves of the recursion cost $\Theta(n^{@e})$.",
        r"The work at the root is $n^{@c}$, and $@c < @e$: it grows polynomially slower than the leaves.",
        r"The leaves dominate, so $T(n) = \Theta(@right)$.",
    ),
    result=r"\log_{@b} @a = @e",
    answer=r"\Theta(@right)",
    respelled=r"$T(n) \in \Theta(@right)$",
    mistakes=(
        Mistake(
            1,
            r"Each level of the recursion costs the same, so $T(n) = \Theta(@wrong)$.",
            r"\Theta(@wrong)",
            r"the levels do not cost the same: from one to the next the work grows by the factor"
            r" $\frac{@a}{@b^{@c}} > 1$",
        ),
    ),
)


def _lens(rng: Random) -> Numbers:
    f = rng.choice([10, 12, 15, 20, 25])
    u = f + rng.choice([5, 6, 10, 15, 30])
    right = Fraction(u * f, u - f)
    return {
        "f": f,
        "u": u,
        "gap": u - f,
        "uf": u * f,
        "right": latex(right),
        "decimal": f"{float(right):.2f}",
        "wrong": latex(Fraction(u * f, u + f)),
    }


_LENS = Task(
    asked=r"find the image distance for an object $@u\ \text{cm}$ before a converging lens of focal length"
    r" $@f\ \text{cm}$",
    assumes="the lens is thin",
    method="the lens equation",
    steps=(
        r"The lens equation is $\frac{1}{f} = \frac{1}{u} + \frac{1}{v}$.",
        r"So $\frac{1}{v} = \frac{1}{@f} - \frac{1}{@u} = \frac{@gap}{@uf}$.",
        r"The image stands at $v = @right\ \text{cm}$, and is real, since $u > f$.",
    ),
    result=r"\frac{1}{v} = \frac{@gap}{@uf}",
    answer=r"@right\ \text{cm}",
    respelled=r"$v \approx @decimal$ cm",
    mistakes=(
        Mistake(
            1,
            r"So $\frac{1}{v} = \frac{1}{@f} + \frac{1}{@u}$ and $v = @wrong\ \text{cm}$.",
            r"@wrong\ \text{cm}",
            r"$\frac{1}{u}$ changes sides without changing its sign",
        ),
    ),
)


def _complement(rng: Random) -> Numbers:
    n = rng.randint(9, 120)
    return {
        "n": n,
        "plain": f"{n:08b}",
        "flipped": f"{255 - n:08b}",
        "right": f"{256 - n:08b}",
        "sign": f"{128 + n:08b}",
    }


_COMPLEMENT = Task(
    asked="write $-@n$ as an eight-bit number in two's complement",
    assumes="the highest bit stands first",
    method="inverting the bits and adding one",
    steps=(
        r"In binary, $@n = \mathtt{@plain}$.",
        r"Inverting each bit gives $\mathtt{@flipped}$.",
        r"Adding one gives $\mathtt{@right}$.",
    ),
    result=r"\mathtt{@flipped}",
    answer=r"\mathtt{@right}",
    respelled="0b@right",
    mistakes=(
        Mistake(
            2,
            r"So $-@n$ is $\mathtt{@flipped}$.",
            r"\mathtt{@flipped}",
            "this is the one's complement: one has still to be added",
        ),
        Mistake(
            1,
            r"Setting the sign bit gives $\mathtt{@sign}$.",
            r"\mathtt{@sign}",
            "a sign bit before the plain number is sign and magnitude, not two's complement",
        ),
    ),
)


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
        "right": latex(right),
        "percent": f"{100 * float(right):.1f}",
    }


_TEST = Task(
    asked=r"find the probability of being ill after a positive test that finds $@s\%$ of the ill and alarms"
    r" for $@f\%$ of the healthy, where $@p\%$ are ill",
    assumes="the person tested is drawn at random from the population",
    method="Bayes' theorem",
    steps=(
        r"Of $10\,000$ people $@ill$ are ill with a positive test ($@p\% \cdot @s\%$).",
        r"Of the healthy ones $@well$ test positive too ($@healthy\% \cdot @f\%$).",
        r"So $$P(\text{ill} \mid +) = \frac{@ill}{@ill + @well} = @right \approx @percent\%.$$",
    ),
    result=r"\frac{@ill}{@both}",
    answer="@right",
    respelled="@percent %",
    mistakes=(
        Mistake(
            0,
            r"The test is right for $@s\%$ of the ill, so $P(\text{ill} \mid +) = @s\%$.",
            r"@s\%",
            r"$P(+ \mid \text{ill})$ is taken for $P(\text{ill} \mid +)$,"
            r" and how rare the illness is plays no part",
        ),
    ),
)


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
        "w": latex(Fraction(light * v, both)),
        "before": light * v**2 // 2,
        "after": latex(Fraction((light * v) ** 2, 2 * both)),
        "right": latex(right),
        "decimal": f"{float(right):.2f}",
    }


_COLLISION = Task(
    asked=r"find the kinetic energy lost when a $@light\ \text{kg}$ cart at $@v\ \text{m/s}$ hits and"
    r" sticks to one of $@heavy\ \text{kg}$ at rest",
    assumes="the track has no friction",
    method="conservation of momentum",
    steps=(
        r"Momentum is conserved: $@light \cdot @v = @p = @both\,w$, so $w = @w\ \text{m/s}$.",
        r"Before the collision the energy is $\frac{1}{2} \cdot @light \cdot @v^2 = @before\ \text{J}$.",
        r"After it, $\frac{1}{2} \cdot @both\,w^2 = @after\ \text{J}$ is left.",
        r"The loss is $@right\ \text{J}$.",
    ),
    result=r"w = @w\ \text{m/s}",
    answer=r"@right\ \text{J}",
    respelled="@decimal J",
    mistakes=(
        Mistake(
            3,
            r"So the energy in question is $@after\ \text{J}$.",
            r"@after\ \text{J}",
            "this is the energy that is left, not the energy that is lost",
        ),
        Mistake(
            0,
            "Energy is conserved in a closed system, so nothing is lost.",
            r"0\ \text{J}",
            "carts that stick together collide inelastically: momentum is conserved, kinetic energy is not",
        ),
    ),
)


PATTERNS = (
    Pattern(_range, _RANGE),
    Pattern(_search, _SEARCH),
    Pattern(_capacitor, _CAPACITOR),
    Pattern(_recurrence, _RECURRENCE),
    Pattern(_lens, _LENS),
    Pattern(_complement, _COMPLEMENT),
    Pattern(_test, _TEST),
    Pattern(_collision, _COLLISION),
)
