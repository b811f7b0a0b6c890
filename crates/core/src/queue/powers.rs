//! Exponentials and powers of sums and products alone, so that they are the same on every machine.

/// e^−x for x >= 0: Taylor's series for x / 2^n below 2^−10, squared
/// n times.
pub(super) fn exp_minus(x: f64) -> f64 {
    let (mut small, mut squares) = (x.min(1024.0), 0);
    while small > 1.0 / 1024.0 {
        (small, squares) = (small / 2.0, squares + 1);
    }
    let series =
        1.0 - small * (1.0 - small / 2.0 * (1.0 - small / 3.0 * (1.0 - small / 4.0 * (1.0 - small / 5.0))));
    (0..squares).fold(series, |power, _| power * power)
}

/// `base` to the power of `exponent`, by squares.
pub(super) fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut square, mut power) = (base, 1.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    power
}
