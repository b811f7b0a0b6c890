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

#[cfg(test)]
mod tests {
    use super::*;

    /// Powers of e to 17 digits, from tables.
    #[test]
    fn exponentials_are_those_of_the_tables() {
        for (x, expected) in [
            (0.0, 1.0),
            (1.0 / 1024.0, 0.999_023_914_181_976_4),
            (0.001, 0.999_000_499_833_375),
            (0.5, 0.606_530_659_712_633_4),
            (1.0, 0.367_879_441_171_442_33),
            (10.0, 4.539_992_976_248_485e-5),
            (100.0, 3.720_075_976_020_836e-44),
        ] {
            let found = exp_minus(x);
            assert!((found / expected - 1.0).abs() < 1e-13 * (1.0 + 10.0 * x), "{x}: {found} {expected}");
        }
        assert_eq!(exp_minus(1e9), 0.0);
    }

    #[test]
    fn powers_are_repeated_products() {
        for base in [0.5, 0.75, 1.0, 2.0] {
            let mut product = 1.0;
            for exponent in 0..70 {
                let found = power(base, exponent);
                assert!((found / product - 1.0).abs() < 1e-12, "{base}^{exponent}: {found} {product}");
                product *= base;
            }
        }
    }
}
