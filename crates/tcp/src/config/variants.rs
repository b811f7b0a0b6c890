//! The list of loss recoveries and congestion controls, and [`Variant`], which is made from it.
//!
//! Each line has the name in a scenario, the file and the type that implement it, and a sentence for the reference. Of this list the
//! crate also makes the dispatch of `recovery/mod.rs` and of `cc/mod.rs`. The list holds names only and depends on neither.

/// Calls a macro with the list.
macro_rules! variants {
    ($then:ident) => {
        $then! {
            // Recoveries that count duplicate acknowledgements. They grow and cut the window as Reno does.
            duplicate_acks {
                "tahoe" tahoe::Tahoe "Fast retransmit, then slow start (ns-2's Agent/TCP).",
                "reno" reno::Reno "Fast retransmit and fast recovery (RFC 5681; ns-2's Agent/TCP/Reno).",
                "newreno" newreno::NewReno
                    "Recovery lasts until all that was outstanding is acknowledged (RFC 6582; ns-2's Agent/TCP/Newreno).",
            }
            // Recoveries that read selective acknowledgements. They grow and cut the window as Reno does.
            selective_acks {
                "sack1" sack1::Sack1 "Selective acknowledgements and a count of what is in the pipe, as in ns-2's Agent/TCP/Sack1.",
                "rfc6675" rfc6675::Rfc6675 "Selective acknowledgements as in RFC 6675.",
                "fack" fack::Fack
                    "Forward acknowledgements: what is beyond the highest packet held is in flight (ns-2's Agent/TCP/Fack).",
            }
            // Congestion controls. Their recovery is `Config::recovery`, or RACK with `Config::rack`. Those by rate are also in
            // `Variant::is_by_rate`.
            controls {
                "bic" bic::Bic "Binary increase (Linux's tcp_bic).",
                "dctcp" dctcp::Dctcp "Reno, but a mark cuts by the share of marked packets (RFC 8257; Linux's tcp_dctcp).",
                "prague" prague::Prague
                    "Prague: as dctcp, for the Internet, alike for round trips below 25 ms (draft-briscoe-iccrg-prague-congestion-control).",
                "cubic" cubic::Cubic
                    "A cubic function of the time since the last loss (RFC 9438; Linux's tcp_cubic).",
                "bbr" bbr::Bbr "BBR, version 1: the rate and the round trip of the path (Linux's tcp_bbr).",
                "bbr3" bbr3::Bbr3 "BBR, version 3 (draft-ietf-ccwg-bbr).",
            }
        }
    };
}
pub(crate) use variants;

macro_rules! define_variant {
    (
        duplicate_acks { $($duplicates_name:literal $duplicates_file:ident::$Duplicates:ident $duplicates_doc:literal,)* }
        selective_acks { $($sack_name:literal $sack_file:ident::$Sack:ident $sack_doc:literal,)* }
        controls { $($control_name:literal $control_file:ident::$Control:ident $control_doc:literal,)* }
    ) => {
        /// Loss recovery and window growth, by the names that the field uses.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Variant {
            $(#[doc = $duplicates_doc] $Duplicates,)*
            $(#[doc = $sack_doc] $Sack,)*
            $(#[doc = $control_doc] $Control,)*
        }

        impl Variant {
            /// Every variant by its name in a scenario. `"sack"` is [`Profile::sack`](super::Profile::sack).
            pub const ALL: [(&'static str, Variant); [$($duplicates_name,)* $($sack_name,)* $($control_name,)*].len()] = [
                $(($duplicates_name, Variant::$Duplicates),)*
                $(($sack_name, Variant::$Sack),)*
                $(($control_name, Variant::$Control),)*
            ];

            /// What the option `variant` is, with all names.
            pub(crate) const MEANING: &'static str = concat!(
                "loss recovery and growth: ",
                $("`\"", $duplicates_name, "\"`, ",)* $("`\"", $sack_name, "\"`, ",)* $("`\"", $control_name, "\"`, ",)*
                "or `\"sack\"`, which is `\"sack1\"` in the ns-2 profiles, else `\"rfc6675\"`; in `linux`, `\"reno\"` is `\"newreno\"`"
            );

            /// The receiver reports the packets that it holds beyond a gap.
            #[inline]
            pub fn is_selective(self) -> bool {
                !matches!(self, $(Variant::$Duplicates)|*)
            }

            /// A congestion control of its own; the others have Reno's.
            #[inline]
            pub(crate) fn is_control(self) -> bool {
                matches!(self, $(Variant::$Control)|*)
            }
        }
    };
}
variants!(define_variant);

impl Variant {
    /// The control counts marks: they stand for themselves, and a loss in the same window is cut for as well.
    #[inline]
    pub(crate) fn counts_marks(self) -> bool {
        matches!(self, Variant::Dctcp | Variant::Prague)
    }

    /// The control sets window and pacing rate from the rate of delivery: it is always paced, by its own rate, recovers by RACK, and keeps
    /// its window when idle, in every profile (Linux `cong_control`).
    ///
    /// ```
    /// # use paceline_tcp::Variant;
    /// assert!(Variant::Bbr.is_by_rate() && !Variant::Cubic.is_by_rate());
    /// ```
    #[inline]
    pub fn is_by_rate(self) -> bool {
        matches!(self, Variant::Bbr | Variant::Bbr3)
    }
}
