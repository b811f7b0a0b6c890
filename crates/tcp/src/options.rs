//! Every option of a connection, in one table: the keys of a scenario's `tcp` table, which `paceline explain tcp` and docs/tcp.md list.
//! The value of an option is read from a [`Config`]; its source depends on the profile.

mod setting;
mod table;

pub use setting::{Setting, Value};
pub use table::OPTIONS;

use crate::config::{Config, Profile};

/// What a profile is, in a line.
///
/// ```
/// # use paceline_tcp::{Profile, options};
/// assert_eq!(options::meaning_of(Profile::Rfc), "the RFCs of today");
/// ```
pub fn meaning_of(profile: Profile) -> &'static str {
    match profile {
        Profile::Rfc => "the RFCs of today",
        Profile::Linux => "Linux, net/ipv4/tcp*.c",
        Profile::Ns2 => "ns-2 2.35's defaults, tcl/lib/ns-default.tcl",
        Profile::Ns2Of2005 => "ns-2 2.28's defaults, of February 2005",
        Profile::Ns2Validation => "what ns-2's own test suite sets, tcl/test/test-suite-tcpVariants.tcl",
    }
}

/// The keys of a scenario's `tcp` table: `profile`, and every option's.
///
/// ```
/// assert!(paceline_tcp::options::keys().contains(&"variant"));
/// ```
pub fn keys() -> Vec<&'static str> {
    ["profile"].into_iter().chain(OPTIONS.iter().map(|option| option.key)).collect()
}

/// docs/tcp.md.
pub fn page() -> String {
    let mut page = String::from(
        "# TCP: every option, every profile\n\n\
         Made from the table in `crates/tcp/src/options/`; `paceline explain tcp` prints the same. To write it anew:\n\
         `PACELINE_WRITE=1 cargo test -p paceline-tcp --test all options`.\n\n\
         A scenario sets an option in a traffic's `tcp` table, `tcp = { profile = \"ns2\", variant = \"newreno\" }`; what it \
         leaves out is the\nprofile's.",
    );
    page += " With `bic` and `cubic`, ns-2's profiles are TCP-Linux's: `tick` 1 ms, `max_rto` 120 s, `min_rto` 200 ms, `initial_rto` \
             3 s,\n`timestamps_end_back_off`. `bbr` and `bbr3` have `rack`, and `idle_restart` is `\"keep\"`, in every profile; they are always \
             paced,\nby their own rate.";
    page += &format!(
        " A scenario that names no profile has `{}` ([why](adr/0001-default-tcp.md)).\n\n\
         | profile | what it is |\n|---|---|\n",
        Profile::DEFAULT.name()
    );
    for (name, profile) in Profile::ALL {
        page += &format!("| `{name}` | {} |\n", meaning_of(profile));
    }
    page += "\n## Values\n\n| option | what it is |";
    for (name, _) in Profile::ALL {
        page += &format!(" `{name}` |");
    }
    page += &format!("\n|---|---|{}\n", "---|".repeat(Profile::ALL.len()));
    for option in OPTIONS {
        page += &format!("| `{}` | {} |", option.key, option.meaning);
        for (_, profile) in Profile::ALL {
            page += &match option.value(&Config::new(profile)) {
                Value::Unset(instead) => format!(" {instead} |"),
                value => format!(" `{value}` |"),
            };
        }
        page += "\n";
    }
    page += "\n## Sources\n\n| option | RFC | ns-2 2.35 | Linux |\n|---|---|---|---|\n";
    for option in OPTIONS {
        page += &format!("| `{}` | {} | {} | {} |\n", option.key, option.rfc, option.ns2, option.linux);
    }
    page
}
