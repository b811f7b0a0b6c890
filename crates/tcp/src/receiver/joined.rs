//! A receiver whose packets may wait to be answered as one ([`super::gro`]).

use super::gro::Gro;
use super::{Receiver, Reply};
use crate::feedback::Feedback;
use paceline_core::Instant;

impl Receiver {
    /// Packet `seq` has arrived: it waits with the others, but for a SYN.
    #[inline(never)]
    pub(super) fn join(&mut self, seq: u32, now: Instant) -> Reply {
        let Some(policy) = self.held.policy_mut() else { return Reply::Later };
        if seq < policy.first {
            let echo = policy.echo;
            return self.reply_slow(seq, 1, echo, now);
        }
        let ends_write = policy.delay.as_ref().is_some_and(|delay| delay.ends_write(seq));
        let goes_on = policy.gro.as_mut().is_some_and(|gro| gro.join(seq, now));
        if goes_on || ends_write { self.reply_to_joined(now) } else { Reply::Later }
    }

    /// The reply to what waits to be joined to others.
    fn reply_to_joined(&mut self, now: Instant) -> Reply {
        let (next, has_gap) = (self.next, self.next != self.end);
        let Some(policy) = self.held.policy_mut() else { return Reply::Later };
        let echo = policy.echo;
        let Some((seq, packets)) = policy.gro.as_mut().and_then(Gro::take) else { return Reply::Later };
        if packets == 1
            && !has_gap
            && seq + 1 == next
            && let Some(waits) = policy.delays_steadily(next, now)
        {
            return if waits { Reply::Later } else { Reply::Now(Feedback::new(echo)) };
        }
        self.reply_slow(seq, packets, echo, now)
    }

    /// With [`Config::gro`](crate::Config::gro), before [`Receiver::on_data`]: packet `seq`, sent at `sent`, arrives with these signals of congestion in its
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
