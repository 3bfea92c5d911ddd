//! The defaults of the faces for requests that do not specify something: how long code runs, what an answer shows,
//! which kernels.
//!
//! Owns which setting becomes which choice. The code that makes a choice owns its meaning.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_engine::Check;
use inkcell_engine::api::KernelMode;
use inkcell_engine::kernel::{BackendKind, PlainHttp, Sharing};
use inkcell_engine::output::TextLimit;

use super::read::SettingsReader;
use super::value::{Address, Secret};
use super::{Key, Profile, Settings, Source};

/// The values for a call that does not specify them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CallSettings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) kernel_mode: KernelMode,
    pub(crate) text: TextLimit,
    /// Bytes of text in one answer.
    pub(crate) call_bytes: usize,
    pub(crate) images: Images,
}

/// The form of pictures in answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Images {
    Inline,
    Path,
    Off,
}

/// The mode that decides which tools an agent gets (`python.toolMode`, `PI_PY`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToolMode {
    /// Python, and no shell beside it.
    IpyOnly,
    /// No tool that runs Python.
    BashOnly,
    Both,
}

impl ToolMode {
    /// The mode for a word of the setting.
    pub(crate) fn of_word(word: &str) -> ToolMode {
        match word {
            "ipy-only" => ToolMode::IpyOnly,
            "bash-only" => ToolMode::BashOnly,
            _ => ToolMode::Both,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GatewaySettings {
    /// The address of an existing gateway.
    pub(crate) url: Option<Address>,
    pub(crate) token: Option<Secret>,
    /// The file of a token, if none is given directly.
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) plain_http: PlainHttp,
    pub(crate) authorities: Option<PathBuf>,
    /// How long its kernels may take to be ready.
    pub(crate) start_limit: Option<Duration>,
    /// How a gateway that we start is shared.
    pub(crate) sharing: Sharing,
    /// The time without a kernel after which it ends.
    pub(crate) idle_stop: Option<Duration>,
}

/// The level and the destination of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LogSettings {
    pub(crate) level: &'static str,
    /// The log file; without it, standard error.
    pub(crate) file: Option<PathBuf>,
    /// Set if each message to and from kernels is logged.
    pub(crate) messages: TraceSwitch,
    /// Set if each stage of starting is written to standard error.
    pub(crate) startup: TraceSwitch,
}

/// On or off, for a trace that logs step by step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TraceSwitch {
    Yes,
    No,
}

impl Settings {
    pub(crate) fn calls(&self, profile: Profile) -> CallSettings {
        let read = SettingsReader { resolved: &self.resolved, profile };
        CallSettings {
            timeout: read.time(Key::PythonTimeout),
            kernel_mode: match read.choice(Key::PythonKernelMode) {
                "per-call" => KernelMode::PerCall,
                _ => KernelMode::Session,
            },
            text: TextLimit {
                max_bytes: read.size(Key::OutputBytes).unwrap_or(usize::MAX),
                max_lines: read.count(Key::OutputLines),
            },
            call_bytes: read.size(Key::OutputCallBytes).unwrap_or(usize::MAX),
            images: match read.choice(Key::OutputImages) {
                "path" => Images::Path,
                "off" => Images::Off,
                _ => Images::Inline,
            },
        }
    }

    /// The mode that decides which tools an agent gets.
    pub(crate) fn tool_mode(&self, profile: Profile) -> ToolMode {
        let read = SettingsReader { resolved: &self.resolved, profile };
        ToolMode::of_word(read.choice(Key::PythonToolMode))
    }

    /// Decides whether Python is looked for before it is offered.
    pub(crate) fn check(&self, profile: Profile) -> Check {
        let read = SettingsReader { resolved: &self.resolved, profile };
        if read.is_on(Key::PythonSkipCheck) { Check::Skip } else { Check::Look }
    }

    /// The backend for callers that select none.
    pub(crate) fn backend(&self, profile: Profile) -> BackendKind {
        let read = SettingsReader { resolved: &self.resolved, profile };
        let url = read.address(Key::GatewayUrl);
        let is_said = self.resolved.get(Key::PythonBackend).source != Source::Default;
        match (read.choice(Key::PythonBackend), &url) {
            // A lone address means that the gateway is used, unless another setting overrules it (B:C-07).
            (word, Some(_)) if !is_said || word == "gateway" => {}
            ("gateway", None) => {}
            ("zmq", _) => return BackendKind::Zmq,
            _ => return BackendKind::Runner,
        }
        BackendKind::Gateway
    }

    /// The gateway for kernels, whether or not it is the default backend.
    pub(crate) fn gateway(&self, profile: Profile) -> GatewaySettings {
        let read = SettingsReader { resolved: &self.resolved, profile };
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

    /// The token for clients that come over HTTP, if the user chose one.
    pub(crate) fn http_token(&self) -> Option<Secret> {
        let read = SettingsReader { resolved: &self.resolved, profile: Profile::CommandLine };
        read.secret(Key::HttpToken)
    }

    /// Returns whether commands that run code use a host that stays.
    pub(crate) fn uses_host(&self) -> bool {
        let read = SettingsReader { resolved: &self.resolved, profile: Profile::CommandLine };
        match read.choice(Key::HostUse) {
            "on" => true,
            "off" => false,
            _ => !self.is_in_ci(),
        }
    }

    /// Returns whether the command runs in continuous integration, where advice has no reader.
    pub(crate) fn is_in_ci(&self) -> bool {
        self.surroundings.get("CI").is_some_and(|value| !value.is_empty() && value != "false")
    }

    /// The idle time after which the host that commands share ends.
    pub(crate) fn host_idle(&self) -> Option<Duration> {
        SettingsReader { resolved: &self.resolved, profile: Profile::Default }.time(Key::HostIdle)
    }

    /// The word for the background of code in the notebook view.
    pub(crate) fn screen_ground(&self) -> &'static str {
        let read = SettingsReader { resolved: &self.resolved, profile: Profile::CommandLine };
        read.choice(Key::ScreenGround)
    }

    /// The word for the characters that draw pictures.
    pub(crate) fn screen_glyphs(&self) -> &'static str {
        let read = SettingsReader { resolved: &self.resolved, profile: Profile::CommandLine };
        read.choice(Key::ScreenGlyphs)
    }

    pub(crate) fn log(&self, profile: Profile) -> LogSettings {
        let read = SettingsReader { resolved: &self.resolved, profile };
        let traced = |key| if read.is_on(key) { TraceSwitch::Yes } else { TraceSwitch::No };
        LogSettings {
            level: read.choice(Key::LogLevel),
            file: read.text(Key::LogFile).map(|file| self.path(&file)),
            messages: traced(Key::PythonIpcTrace),
            startup: traced(Key::DebugStartup),
        }
    }
}
