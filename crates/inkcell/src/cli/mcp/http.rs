//! `inkcell mcp --http`: the server for clients that come and go.
//!
//! Owns the address, the valid tokens and how users learn them, and the end of the server. Each token has an engine
//! of its own, so that clients with different tokens share nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use inkcell_engine::artifact::ArtifactOwner;
use inkcell_engine::registry::IdleRule;
use inkcell_engine::{Engine, EngineConfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::LAST_WORDS;
use crate::app::{backends, desk_with};
use crate::args::Mcp;
use crate::cli::signals::Signals;
use crate::exit::{Exit, Failure};
use crate::http::{
    BodyLimits, Caller, ConnectionLimits, Guard, Reach, Token, TokenError, TokenFile, Tokens,
    authorities, parse_address, read_tokens,
};
use crate::log;
use crate::mcp::exposure::Exposure;
use crate::mcp::{self, Client, Ends};
use crate::output::Output;
use crate::settings::{Settings, engine_config};
use crate::words;

/// The time limit for a message once it has begun.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The tokens that clients must send, and their origin.
struct Secrets {
    tokens: Vec<Token>,
    /// The file of a token that was made here.
    made: Option<TokenFile>,
}

pub(super) async fn serve(
    args: &Mcp,
    exposure: Exposure,
    settings: &Arc<Settings>,
    signals: &Signals,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let wrong = |problem: String| Failure::argument("--http", problem);
    let reach = if args.allow_remote { Reach::Remote } else { Reach::ThisMachine };
    let wanted = args.http.as_deref().unwrap_or_default();
    let address =
        parse_address(wanted, reach).map_err(|error| wrong(format!("{wanted}: {error}")))?;
    let given = given(args, settings)?;
    let is_remote = !address.ip().to_canonical().is_loopback();
    if is_remote && given.is_none() {
        return Err(wrong(words::protocol::choose_token(&wanted)));
    }
    let cannot = |error| wrong(format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let names = authorities(bound, &args.hosts).map_err(|error| wrong(error.to_string()))?;
    let secrets = secrets(given, bound, settings)?;

    let (ending, calls, streams) = Default::default();
    let ends = Ends { calls, streams };
    let tokens = Tokens::new().map_err(no_token)?;
    let clients = clients(&secrets.tokens, &tokens, exposure, settings)?;
    let engines: Vec<Engine> = clients.iter().map(|client| client.desk.engine.clone()).collect();
    let limits = BodyLimits { bytes: mcp::MOST_BYTES, time: BODY_TIME };
    let guard = Arc::new(Guard::new(names, tokens));
    let site = mcp::routes(clients, &ends).behind(guard, limits);
    announce(bound, &secrets, is_remote, output)?;
    log::stage("serving");

    let ended = CancellationToken::clone(&ending);
    let limits = ConnectionLimits::USUAL;
    let serving = crate::http::serve(listener, site, limits, ended, ends.streams.clone());
    let mut serving = tokio::spawn(serving);
    let is_over = tokio::select! {
        _ = &mut serving => true,
        () = signals.asked(1) => false,
    };
    // Remove the file first: the next server on this port may write a file of the same name.
    drop(secrets);
    // Accept no more clients, cancel and answer the calls under way, and then end the streams.
    ending.cancel();
    ends.calls.ending.cancel();
    let last = async {
        join_all(engines.iter().map(Engine::shutdown)).await;
        ends.calls.are_over().await;
        ends.streams.cancel();
        if !is_over {
            let _ = serving.await;
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS, last).await;
    log::ended(signals.first());
    match signals.first() {
        Some(signal) => Err(Failure::Signal(signal)),
        None => Ok(Exit::Ok),
    }
}

/// The tokens that a user chose. They are never taken from the command line, which every user can see.
fn given(args: &Mcp, settings: &Settings) -> Result<Option<Vec<Token>>, Failure> {
    if let Some(path) = &args.token_file {
        let path = settings.cwd.join(path);
        let wrong =
            |error| Failure::argument("--token-file", format!("{}: {error}", path.display()));
        return read_tokens(&path).map(Some).map_err(wrong);
    }
    let Some(secret) = settings.http_token() else { return Ok(None) };
    let wrong = |error: TokenError| Failure::argument("http.token", error.to_string());
    let token = Token::given(secret.reveal().trim()).map_err(wrong)?;
    Ok(Some(vec![token]))
}

/// Those tokens, or a new one.
fn secrets(
    given: Option<Vec<Token>>,
    bound: SocketAddr,
    settings: &Settings,
) -> Result<Secrets, Failure> {
    if let Some(tokens) = given {
        return Ok(Secrets { tokens, made: None });
    }
    let token = Token::make().map_err(no_token)?;
    let name = bound.to_string().replace(['[', ']'], "").replace(':', "-");
    let written = TokenFile::write(&settings.state_dir, &name, &token).map_err(|error| {
        let problem = words::protocol::token_not_written(&settings.state_dir.display(), &error);
        Failure::argument("state.dir", problem)
    })?;
    Ok(Secrets { tokens: vec![token], made: Some(written) })
}

fn no_token(error: TokenError) -> Failure {
    Failure::argument("--http", error.to_string())
}

/// All clients, each with an engine of its own.
fn clients(
    secrets: &[Token],
    tokens: &Tokens,
    exposure: Exposure,
    settings: &Arc<Settings>,
) -> Result<Vec<Client>, Failure> {
    let config = config(settings, &exposure);
    let backends = backends(settings, exposure.profile())?;
    let exposure = Arc::new(exposure);
    let client = |(number, token): (u64, &Token)| {
        let caller = Caller(number);
        tokens.admit(token, caller);
        let owner = ArtifactOwner::new(token.reveal().as_bytes());
        let engine = Engine::of_owner(config.clone(), backends.clone(), owner);
        Client { caller, desk: desk_with(engine, Arc::clone(&exposure), settings) }
    };
    Ok((1..).zip(secrets).map(client).collect())
}

/// The configuration for any client, except that unused sessions end: the server cannot tell when such a client is
/// gone for good.
fn config(settings: &Settings, exposure: &Exposure) -> EngineConfig {
    let mut config = engine_config(settings, exposure.profile());
    if let IdleRule::WithoutOwner(limit) = config.limits.idle {
        config.limits.idle = IdleRule::Always(limit);
    }
    config
}

/// Prints the address and the token. A token that a user chose is not repeated.
fn announce(
    bound: SocketAddr,
    secrets: &Secrets,
    is_remote: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let url = format!("http://{bound}{}", mcp::PATH);
    let file = secrets.made.as_ref().map(|made| made.path().display().to_string());
    if output.is_json() {
        output.json(&json!({"url": url, "token_file": file})).map_err(Failure::of_output)?;
        output.flush().map_err(Failure::of_output)?;
        return Ok(());
    }
    output.aside(&format!("serving {url}"));
    match (&*secrets.tokens, file) {
        ([token], Some(file)) => {
            output.aside(&format!("token: {}", token.reveal()));
            output.aside(&words::protocol::token_counts(&file));
        }
        ([_], None) => output.aside("one token counts"),
        (many, _) => output.aside(&format!("{} tokens count", many.len())),
    }
    if is_remote {
        output.aside(words::protocol::OPEN_TO_OTHERS);
    }
    Ok(())
}
