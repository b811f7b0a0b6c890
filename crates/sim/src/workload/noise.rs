//! Fractional Gaussian noise, exact: the method of Davies and Harte.
//!
//! *Idea.* The auto-covariances of the noise, wrapped around into a circle of 2n, are the first row of a circulant matrix;
//! its eigenvalues are their Fourier transform, and none is negative. White noise weighted by their roots and transformed
//! back has exactly these covariances. O(n log n).
//! *Parameters.* H, between 0 and 1: covariance at lag k is (|k+1|^2H - 2 |k|^2H + |k-1|^2H) / 2, variance 1.
//! *Where it breaks.* All of a sample is made at once: 16 bytes a value and as much again while it is made.
//!
//! The transform is our own, in the plainest form: crates for it choose instructions by the machine and take sines from the
//! platform, and the same seed must give the same bytes everywhere.
//! *References.* R. B. Davies and D. S. Harte, "Tests for Hurst effect" (Biometrika 1987); J. Cooley and J. Tukey (1965).

use crate::kernel::chance::Stream;
use core::f64::consts::PI;

/// `count` values of mean 0 and variance 1.
pub(crate) fn fractional_gaussian_noise(hurst: f64, count: usize, draws: &mut Stream) -> Vec<f64> {
    let n = count.next_power_of_two().max(2);
    let mut re: Vec<f64> = (0..2 * n).map(|k| covariance(hurst, k.min(2 * n - k))).collect();
    let mut im = vec![0.0; 2 * n];
    transform(&mut re, &mut im);
    let eigenvalues: Vec<f64> = re.iter().take(n + 1).map(|value| value.max(0.0)).collect();
    for k in 0..=n {
        let (a, b) = draws.gaussians();
        if k == 0 || k == n {
            (re[k], im[k]) = (eigenvalues[k].sqrt() * a, 0.0);
        } else {
            let weight = (eigenvalues[k] / 2.0).sqrt();
            (re[k], im[k]) = (weight * a, weight * b);
            (re[2 * n - k], im[2 * n - k]) = (re[k], -im[k]);
        }
    }
    transform(&mut re, &mut im);
    let scale = 1.0 / (2.0 * n as f64).sqrt();
    re.truncate(count);
    re.iter_mut().for_each(|value| *value *= scale);
    re
}

/// Auto-covariance of the noise at lag `k`.
fn covariance(hurst: f64, k: usize) -> f64 {
    let (two_h, k) = (2.0 * hurst, k as f64);
    if k == 0.0 {
        return 1.0;
    }
    if k < 100.0 {
        let power = |x: f64| libm::pow(x, two_h);
        return 0.5 * (power(k + 1.0) - 2.0 * power(k) + power(k - 1.0));
    }
    // The difference of large numbers would lose all digits: its series in 1/k^2, sum over j of binomial(2H, 2j) / k^2j.
    let mut term = two_h * (two_h - 1.0) / 2.0 / (k * k);
    let mut sum = term;
    for j in 1..5_u32 {
        let done = f64::from(2 * j);
        term *= (two_h - done) * (two_h - done - 1.0) / ((done + 1.0) * (done + 2.0)) / (k * k);
        sum += term;
    }
    libm::pow(k, two_h) * sum
}

/// Discrete Fourier transform in place, sum of x_k exp(-2 pi i j k / n); the length is a power of two.
fn transform(re: &mut [f64], im: &mut [f64]) {
    let n = re.len();
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            re.swap(i, j);
            im.swap(i, j);
        }
    }
    let turns: Vec<(f64, f64)> = (0..n / 2)
        .map(|k| libm::sincos(-2.0 * PI * k as f64 / n as f64))
        .map(|(sin, cos)| (cos, sin))
        .collect();
    let mut half = 1;
    while half < n {
        let step = n / (2 * half);
        for start in (0..n).step_by(2 * half) {
            for k in 0..half {
                let (cos, sin) = turns[k * step];
                let (a, b) = (start + k, start + k + half);
                let (x, y) = (re[b] * cos - im[b] * sin, re[b] * sin + im[b] * cos);
                (re[b], im[b]) = (re[a] - x, im[a] - y);
                (re[a], im[a]) = (re[a] + x, im[a] + y);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_is_the_sum_that_defines_it() {
        let mut draws = Stream::new(1, "fft");
        let n = 64;
        let x: Vec<(f64, f64)> = (0..n).map(|_| draws.gaussians()).collect();
        let (mut re, mut im): (Vec<f64>, Vec<f64>) = x.iter().copied().unzip();
        transform(&mut re, &mut im);
        for j in 0..n {
            let (mut a, mut b) = (0.0, 0.0);
            for (k, (re, im)) in x.iter().enumerate() {
                let (sin, cos) = libm::sincos(-2.0 * PI * (j * k) as f64 / n as f64);
                a += re * cos - im * sin;
                b += re * sin + im * cos;
            }
            assert!((a - re[j]).abs() < 1e-12 * n as f64 && (b - im[j]).abs() < 1e-12 * n as f64, "{j}");
        }
    }

    #[test]
    fn both_forms_of_the_covariance_meet() {
        for hurst in [0.3, 0.5, 0.75, 0.9, 0.99] {
            let power = |x: f64| libm::pow(x, 2.0 * hurst);
            for k in [100_usize, 150] {
                let x = k as f64;
                let direct = 0.5 * (power(x + 1.0) - 2.0 * power(x) + power(x - 1.0));
                assert!((covariance(hurst, k) - direct).abs() < 1e-11, "{hurst} {k}");
            }
        }
    }

    #[test]
    fn samples_have_the_covariances_of_the_noise() {
        // Many short samples: the average over them is unbiased, for the mean is known to be 0.
        let (samples, count) = (5_000, 64);
        for hurst in [0.3, 0.5, 0.8, 0.95] {
            let mut draws = Stream::new(9, "covariance");
            let mut sums = [0.0; 5];
            let lags = [0, 1, 2, 10, 40];
            for _ in 0..samples {
                let noise = fractional_gaussian_noise(hurst, count, &mut draws);
                for (sum, lag) in sums.iter_mut().zip(lags) {
                    *sum += noise[3] * noise[3 + lag];
                }
            }
            for (sum, lag) in sums.iter().zip(lags) {
                let (seen, expected) = (sum / f64::from(samples), covariance(hurst, lag));
                // The product's variance is 1 + covariance^2 (Isserlis).
                let error = ((1.0 + expected * expected) / f64::from(samples)).sqrt();
                assert!(
                    (seen - expected).abs() < 4.0 * error,
                    "H {hurst}, lag {lag}: {seen}, not {expected}"
                );
            }
        }
    }
}
