//! Application dialogues: applications are notified of what becomes of their messages, and act.
//!
//! Nothing here is on the path of a bulk flow's packet. A timer that waits keeps its flow's ends from running ahead of time, as it may cause
//! an event in between. Two flows that answer each other never run ahead, nor do receivers where one connection follows another.

use crate::engine::hosts::Hosts;
use crate::kernel::packet::{Event, Kind};
use crate::model::flow::{Gate, News, Source};
use crate::workload::{Action, Notice, Side, Transfer};

impl Hosts<'_> {
    /// Notifies a flow's application of what has been delivered.
    #[cold]
    pub(crate) fn on_news(&mut self, flow: u32, news: News) {
        if news.opened {
            self.notify(flow, Notice::Opened);
        }
        for _ in 0..news.messages {
            self.notify(flow, Notice::Delivered(news.side));
        }
    }

    /// A message's last byte has been acknowledged.
    #[cold]
    pub(crate) fn on_message_acknowledged(&mut self, flow: u32) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        let talk = tcp.rest.application.map(|(talk, _)| &self.dialogues[talk as usize]);
        let counted = talk.is_none_or(|talk| talk.messages_are_transfers);
        let complete = tcp.rest.messages.on_acknowledged(tcp.sender.una(), self.now, counted);
        let side = tcp.side();
        for _ in 0..complete {
            self.notify(flow, Notice::Acknowledged(side));
        }
    }

    /// A dialogue starts, or one of its timers fires.
    pub(crate) fn on_dialogue(&mut self, flow: u32) {
        let Source::Tcp(tcp) = &self.flows[flow as usize].source else { return };
        let Some((talk, side)) = tcp.rest.application else { return };
        let notice = if self.dialogues[talk as usize].started {
            self.flows[flow as usize].gates.iter_mut().for_each(Gate::pass);
            Notice::Timer(side)
        } else {
            self.dialogues[talk as usize].started = true;
            Notice::Start
        };
        self.notify(flow, notice);
    }

    /// Notifies the application of a flow, if it has one, and performs its actions.
    pub(crate) fn notify(&mut self, flow: u32, notice: Notice) {
        let Source::Tcp(tcp) = &self.flows[flow as usize].source else { return };
        let Some((talk, _)) = tcp.rest.application else { return };
        let talk = &mut self.dialogues[talk as usize];
        let mut actions = std::mem::take(&mut self.actions);
        talk.application.notify(notice, self.now, &mut actions);
        let opener = talk.opener;
        for act in actions.drain(..) {
            self.act(opener, act);
        }
        self.actions = actions;
    }

    fn act(&mut self, opener: u32, act: Action) {
        let flow_of = |side: Side| opener + side.index();
        match act {
            Action::Open => {
                let Source::Tcp(tcp) = &mut self.flows[opener as usize].source else { return };
                let syn = tcp.syn();
                tcp.rest.messages.open(syn);
                let has_syn = syn > 0;
                tcp.sender.start(self.now, &mut self.segments);
                self.send(opener);
                if !has_syn {
                    self.notify(opener, Notice::Opened);
                }
            }
            Action::Write(side, bytes) => {
                let flow = flow_of(side);
                let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
                tcp.write(bytes, self.now);
                let (end, other) = (tcp.sender.end(), tcp.rest.answers);
                tcp.sender.start(self.now, &mut self.segments);
                let sends = tcp.sender.end() > end;
                self.send(flow);
                if let Some(other) = other.filter(|_| sends) {
                    self.answer_with_data(other);
                }
            }
            Action::Wait(side, until) => {
                let flow = flow_of(side);
                self.flows[flow as usize].gates.iter_mut().for_each(Gate::wait);
                let place = self.network.links.len() as u32 + self.network.flows[flow as usize].source;
                self.mail.calendar.push(Event::of_flow(until, place, Kind::Application, flow));
            }
            Action::Reopen(side) => {
                let flow = flow_of(side);
                let host = self.network.flows[flow as usize].source;
                let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
                tcp.reopen();
                if let Some(Some(port)) = self.ports.get_mut(host as usize) {
                    port.change_rate(std::mem::take(&mut tcp.rest.port_rate), 0);
                }
            }
            Action::Complete { started, data_from, bytes } => {
                let Source::Tcp(tcp) = &mut self.flows[opener as usize].source else { return };
                let took = self.now.since(started);
                tcp.rest.messages.transfers.push(Transfer { started, data_from, took, bytes });
            }
        }
    }
}
