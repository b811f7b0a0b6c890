//! The laws of set-up, locks, taking over and the end.

use std::sync::atomic::Ordering::Relaxed;

use super::world::{Life, Link, Program, World};

impl World {
    /// `gate`: the one that it met, and the interface that it redirected the frame to.
    pub(super) fn judge(
        &mut self,
        link: usize,
        number: u64,
        takers: &[usize],
        gate: Option<(usize, Option<u64>)>,
    ) {
        let name = format!("frame {number} at interface {link}");
        let is_late =
            |life: usize| self.lives[life].away_since.is_some() && self.now > self.lives[life].passes_by;
        let passes = gate.is_some_and(|(_, to)| to.is_some());
        match (takers, passes) {
            ([_, _, ..], _) => self.violate(format!("{name} is taken by each of {takers:?}")),
            ([taker], true) => self.violate(format!("{name} is taken by {taker} and passes")),
            ([taker], false) if is_late(*taker) => {
                self.violate(format!("{name} is taken by {taker}, which is away"));
            }
            ([taker], false) if !self.lives[*taker].has_begun => {
                self.violate(format!("{name} is taken by {taker}, which is not at work yet"));
            }
            ([taker], false) => self.lives[*taker].held[link].push(number),
            ([], true) => {
                if gate.and_then(|(_, to)| to) != Some(2 - link as u64) {
                    self.violate(format!("{name} passes to where it came from"));
                }
                self.passed += 1;
                self.depart(link, number, "past the pacers");
            }
            ([], false) => {
                let Some((gate, _)) = gate else {
                    if self.links[link].needs_gate {
                        self.violate(format!("{name} meets no gate"));
                    }
                    return;
                };
                let Program { owner, maps, .. } = self.programs[gate];
                let away = self.lives[owner].away_since;
                let is_closed = self.maps[maps[0]].shared.state().closed.load(Relaxed) != 0;
                if is_late(owner) || (away.is_none() && !is_closed) {
                    self.violate(format!("{name} is dropped by the gate of {owner}, and not taken"));
                }
            }
        }
    }

    /// A frame leaves by the other interface.
    pub(super) fn depart(&mut self, from: usize, number: u64, how: &str) {
        let last = self.links[1 - from].last_out;
        if number <= last {
            self.violate(format!("frame {number} of interface {from} leaves {how} after {last}"));
        }
        self.links[1 - from].last_out = number;
    }

    /// A gate was taken away by that life.
    pub(super) fn uncovered(&mut self, life: usize, link: usize) {
        if !self.links[link].ingress.is_empty() {
            return;
        }
        let others = || self.lives.iter().enumerate().filter(|(other, _)| *other != life);
        if let Some((other, _)) = others().find(|(_, other)| other.is_at_work) {
            self.violate(format!("life {life} leaves {other}, which is at work, without a gate at {link}"));
        } else if self.lives[life].ends_well {
            self.links[link].needs_gate = false;
        } else if self.links[link].needs_gate {
            self.violate(format!(
                "life {life}, which does not end well, leaves interface {link} without a gate"
            ));
        }
    }

    /// That life has something else at the driver.
    pub(super) fn drive(&mut self, life: usize, link: usize, program: Option<usize>) {
        if let Some(other) = self.links[link].before.driver {
            self.violate(format!("life {life} takes away the XDP of another program, {other}, at {link}"));
        }
        self.links[link].settings.driver = program;
    }

    /// Of those that start at once one gets the interfaces, unless something happens to it.
    pub(super) fn check_refusals(&mut self) {
        let lives = || self.lives.iter().zip(&self.script.lives).filter(|(_, plan)| plan.start_us.is_some());
        let excuses = |life: &Life| life.has_begun || life.is_disturbed;
        if lives().any(|(life, _)| life.is_refused)
            && !lives().any(|(life, plan)| plan.restores || excuses(life))
            && !self.has_other()
        {
            self.violate("each is refused because of another".to_owned());
        }
    }

    /// All is as it was before there were pacers.
    pub(super) fn check_put_back(&mut self, by: usize) {
        for link in 0..2 {
            let Link { settings, before, ingress, excused, .. } = &self.links[link];
            let (is_bare, is_as_before) = (ingress.is_empty(), settings == before || *excused);
            if !is_bare {
                self.violate(format!("life {by} has ended well, and a gate is left at {link}"));
            } else if !is_as_before {
                let what = format!(
                    "life {by} has ended well, and interface {link} has {settings:?}, not {before:?}"
                );
                self.violate(what);
            }
        }
    }
}
