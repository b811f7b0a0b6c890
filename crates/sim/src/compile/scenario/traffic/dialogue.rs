//! Dialogues: TCP connections that carry what applications write, described by a table or listed in a file (`cvec`).

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use paceline_core::Span;
use paceline_tcp::config::{Config, IdleRestart, Profile};

use super::file;
use crate::compile::scenario::tcp;
use crate::input::keys::{Key, Kind, key, needed};
use crate::input::{Field, Result, Table};
use crate::workload::cvec::{self, Vector};
use crate::workload::{DialogueSpec, Side};

pub(super) const CVEC_KEYS: [Key; 4] = [
    needed("file", Kind::Text, "relative to the scenario's own"),
    file::SPEED,
    key(
        "windows",
        Kind::Flag,
        "no side has more in flight than the file says the other takes; true unless given",
    ),
    super::TCP,
];

/// Dialogues that are alike, or those of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DialogueTraffic {
    pub(crate) tcp: Config,
    pub(crate) profile: Profile,
    pub(crate) script: Script,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Script {
    /// The same kind of thing on every connection.
    Same(DialogueSpec),
    /// What a file lists, connection by connection.
    Vectors {
        vectors: Vec<Arc<Vector>>,
        /// Windows are those of the file, if they are less.
        windows: bool,
    },
}

impl DialogueTraffic {
    /// The same dialogue on every connection.
    pub(super) fn same(
        talk: DialogueSpec,
        table: &Table<'_>,
        tcp: Result<(Config, Profile)>,
    ) -> Result<Self> {
        let (mut tcp, profile) = tcp?;
        let tcp_table = table.get("tcp").map(|field| field.open()).transpose()?;
        if talk.kind().keeps_window() && tcp_table.is_none_or(|table| table.get("idle_restart").is_none()) {
            tcp.idle_restart = IdleRestart::Keep;
        }
        Ok(DialogueTraffic { tcp, profile, script: Script::Same(talk) })
    }

    pub(super) fn cvec(table: &Table<'_>, duration: Span) -> Result<DialogueTraffic> {
        let (tcp, profile) = settings(table)?;
        let field = table.required("file", "\"connections.cvec\"")?;
        let windows = table.optional("windows", Field::flag)?.unwrap_or(true);
        let speed = file::speed(table)?;
        let path = file::path(&field)?;
        let vectors = read_vectors(path).map_err(|problem| file::wrong(&field, path, problem))?;
        // Only starts are pulled together: what an application does within a connection takes the time it takes.
        let vectors = vectors.into_iter().filter_map(|mut vector| {
            vector.start = Span::from_nanos((vector.start.as_nanos() as f64 / speed) as u64);
            (vector.start < duration && !vector.units.is_empty()).then(|| Arc::new(vector))
        });
        let vectors: Vec<Arc<Vector>> = vectors.collect();
        if vectors.is_empty() {
            let problem =
                format!("no connection starts before the end, \"{duration}\"; write a longer duration");
            return Err(file::wrong(&field, path, problem));
        }
        let script = Script::Vectors { vectors, windows };
        Ok(DialogueTraffic { tcp, profile, script })
    }

    /// The settings of one side's flow. The opener's SYN opens the connection both ways.
    pub(crate) fn tcp_of(&self, side: Side, talk: &DialogueSpec) -> Config {
        let mut tcp = self.tcp.clone();
        if side == Side::Answerer {
            tcp.syn = None;
        }
        if let (DialogueSpec::Vector(vector), Script::Vectors { windows: true, .. }) = (talk, &self.script)
            && let Some(windows) = vector.windows
        {
            let receivers = windows[side.other().index() as usize];
            let packets = (receivers / u64::from(tcp.payload)).clamp(1, u64::from(tcp.max_window));
            tcp.max_window = packets as u32;
        }
        tcp
    }
}

/// `tcp`, or the default profile.
pub(super) fn settings(table: &Table<'_>) -> Result<(Config, Profile)> {
    match table.get("tcp") {
        Some(field) => field.noting(tcp::read(&field)),
        None => Ok((Config::new(Profile::DEFAULT), Profile::DEFAULT)),
    }
}

/// A file of connection vectors, plain or gzip'd.
fn read_vectors(path: &str) -> Result<Vec<Vector>, String> {
    let open = || File::open(path).map(BufReader::new).map_err(|error| format!("cannot be read: {error}"));
    let mut magic = [0; 2];
    let is_packed = std::io::Read::read_exact(&mut open()?, &mut magic).is_ok() && magic == [0x1f, 0x8b];
    let vectors = if is_packed {
        cvec::read(BufReader::new(MultiGzDecoder::new(open()?)))
    } else {
        cvec::read(open()?)
    };
    vectors.map_err(|error| error.to_string())
}
