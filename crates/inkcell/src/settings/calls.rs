//! What the faces do when a request does not say: how long code runs, what an answer shows, which kernels.
//!
//! Owns which setting becomes which choice. What a choice means is for whoever makes it.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_engine::Check;
use inkcell_engine::api::KernelMode;
use inkcell_engine::kernel::{PlainHttp, Sharing};
use inkcell_engine::output::TextLimit;

use super::read::Read;
use super::value::{Address, Secret};
use super::{Key, Profile, Settings, Source};
use crate::exposure::ToolMode;

/// What holds for a call that does not say.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CallSettings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) kernel_mode: KernelMode,
    pub(crate) text: TextLimit,
    pub(crate) images: Images,
}

/// How pictures are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Images {
    Inline,
    Path,
    Off,
}

/// What makes kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackendSettings {
    Runner,
    Zmq,
    Gateway,
}

/// Which gateway.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GatewaySettings {
    /// Of one that is there already.
    pub(crate) url: Option<Address>,
    pub(crate) token: Option<Secret>,
    /// The file of a token, where none is given.
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) plain_http: PlainHttp,
    pub(crate) authorities: Option<PathBuf>,
    /// How long its kernels may take to be ready.
    pub(crate) start_limit: Option<Duration>,
    /// Of one that we start.
    pub(crate) sharing: Sharing,
    /// After how long without a kernel it ends.
    pub(crate) idle_stop: Option<Duration>,
}

/// What is logged, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LogSettings {
    pub(crate) level: &'static str,
    /// Standard error without it.
    pub(crate) file: Option<PathBuf>,
    /// Whether each message to and from kernels is.
    pub(crate) messages: Traced,
    /// Whether each stage of starting is written to standard error.
    pub(crate) startup: Traced,
}

/// Whether something is written down step by step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Traced {
    Yes,
    No,
}

impl Settings {
    pub(crate) fn calls(&self, profile: Profile) -> CallSettings {
        let read = Read { resolved: &self.resolved, profile };
        CallSettings {
            timeout: read.time(Key::PythonTimeout),
            kernel_mode: match read.word(Key::PythonKernelMode) {
                "per-call" => KernelMode::PerCall,
                _ => KernelMode::Session,
            },
            text: TextLimit {
                max_bytes: read.size(Key::OutputBytes).unwrap_or(usize::MAX),
                max_lines: read.count(Key::OutputLines),
            },
            images: match read.word(Key::OutputImages) {
                "path" => Images::Path,
                "off" => Images::Off,
                _ => Images::Inline,
            },
        }
    }

    /// Which tools are for an agent.
    pub(crate) fn tool_mode(&self, profile: Profile) -> ToolMode {
        let read = Read { resolved: &self.resolved, profile };
        ToolMode::of_word(read.word(Key::PythonToolMode))
    }

    /// Whether Python is looked for before it is offered.
    pub(crate) fn check(&self, profile: Profile) -> Check {
        let read = Read { resolved: &self.resolved, profile };
        if read.is_on(Key::PythonSkipCheck) { Check::Skip } else { Check::Look }
    }

    pub(crate) fn backend(&self, profile: Profile) -> BackendSettings {
        let read = Read { resolved: &self.resolved, profile };
        let url = read.address(Key::GatewayUrl);
        let is_said = self.resolved.get(Key::PythonBackend).source != Source::Default;
        match (read.word(Key::PythonBackend), &url) {
            // An address that nobody overrules is meant to be used (B:C-07).
            (word, Some(_)) if !is_said || word == "gateway" => {}
            ("gateway", None) => {}
            ("zmq", _) => return BackendSettings::Zmq,
            _ => return BackendSettings::Runner,
        }
        BackendSettings::Gateway
    }

    /// The gateway that kernels come from, whether or not that is the usual way.
    pub(crate) fn gateway(&self, profile: Profile) -> GatewaySettings {
        let read = Read { resolved: &self.resolved, profile };
        let path = |key| read.text(key).map(|file| self.path(&file));
        GatewaySettings {
            url: read.address(Key::GatewayUrl),
            token: read.secret(Key::GatewayToken),
            token_file: path(Key::GatewayTokenFile),
            plain_http: if read.is_on(Key::GatewayInsecure) {
                PlainHttp::Anywhere
            } else {
                PlainHttp::OnlyHere
            },
            authorities: path(Key::GatewayAuthorities),
            start_limit: read.time(Key::GatewayStartTimeout),
            sharing: if read.is_on(Key::PythonSharedGateway) {
                Sharing::Allowed
            } else {
                Sharing::Refused
            },
            idle_stop: read.time(Key::GatewayIdleStop),
        }
    }

    /// What clients that come over HTTP must send, where somebody chose it.
    pub(crate) fn http_token(&self) -> Option<Secret> {
        let read = Read { resolved: &self.resolved, profile: Profile::CommandLine };
        read.secret(Key::HttpToken)
    }

    /// Whether commands that run code use a host that stays.
    pub(crate) fn uses_host(&self) -> bool {
        let read = Read { resolved: &self.resolved, profile: Profile::CommandLine };
        match read.word(Key::HostUse) {
            "on" => true,
            "off" => false,
            _ => {
                self.surroundings.get("CI").is_none_or(|value| value.is_empty() || value == "false")
            }
        }
    }

    /// After how long without anybody the host that commands share ends.
    pub(crate) fn host_idle(&self) -> Option<Duration> {
        Read { resolved: &self.resolved, profile: Profile::Default }.time(Key::HostIdle)
    }

    pub(crate) fn log(&self, profile: Profile) -> LogSettings {
        let read = Read { resolved: &self.resolved, profile };
        let traced = |key| if read.is_on(key) { Traced::Yes } else { Traced::No };
        LogSettings {
            level: read.word(Key::LogLevel),
            file: read.text(Key::LogFile).map(|file| self.path(&file)),
            messages: traced(Key::PythonIpcTrace),
            startup: traced(Key::DebugStartup),
        }
    }
}
