//! A receiver whose packets may wait to be answered as one ([`super::gro`]).

use super::gro::Gro;
use super::{Receiver, Reply};
use crate::feedback::Feedback;
use paceline_core::Instant;

impl Receiver {
    /// The reply to what waits to be joined to others.
    #[inline(never)]
    pub(super) fn reply_to_joined(&mut self, now: Instant) -> Reply {
        let Some(policy) = self.held.policy_mut() else { return Reply::Later };
        let echo = policy.echo;
        match policy.gro.as_mut().and_then(Gro::take) {
            Some((seq, packets)) => self.reply_to(seq, packets, echo, now),
            None => Reply::Later,
        }
    }

    /// With [`Config::gro`], before [`Receiver::on_data`]: packet `seq`, sent at `sent`, arrives with these signals of congestion in its
    /// headers. Returns the feedback of an acknowledgement that goes before, of packets that it does not continue.
    ///
    /// ```
    /// use paceline_core::{Instant, Span};
    /// use paceline_tcp::{Config, Profile, Receiver, Reply};
    ///
    /// let config = Config { gro: Some(Span::from_millis(1)), ..Config::new(Profile::Ns2) };
    /// let (mut receiver, now) = (Receiver::with(&config, 1), Instant::ZERO);
    /// for seq in [1, 2, 3] {
    ///     assert_eq!(receiver.on_joinable(seq, now, 0, now), None);
    ///     receiver.on_data(seq);
    ///     assert_eq!(receiver.reply(seq, now, now), Reply::Later);
    /// }
    /// assert_eq!(receiver.due(), Some(now + Span::from_millis(1)));
    /// assert!(receiver.on_joinable(5, now, 0, now).is_some()); // 4 is missing
    /// ```
    pub fn on_joinable(&mut self, seq: u32, sent: Instant, signals: u8, now: Instant) -> Option<Feedback> {
        let gro = self.held.policy_mut()?.gro.as_mut()?;
        if !gro.ends_before(seq, sent, signals) {
            return None;
        }
        match self.reply_to_joined(now) {
            Reply::Now(feedback) => Some(feedback),
            Reply::Later => None,
        }
    }

    /// [`Receiver::due`] has come: returns the feedback of an acknowledgement, if one goes. [`Receiver::due`] may be now again.
    pub fn on_timer(&mut self, now: Instant) -> Option<Feedback> {
        let joined = self.held.policy().and_then(|policy| policy.gro.as_ref()?.due);
        if joined.is_none_or(|due| due > now) {
            return Some(self.on_delayed_ack_timer());
        }
        match self.reply_to_joined(now) {
            Reply::Now(feedback) => Some(feedback),
            Reply::Later => None,
        }
    }
}
