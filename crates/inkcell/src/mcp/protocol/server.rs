//! One client and its calls.
//!
//! Owns the way from a request to its answer: whatever a tool does, its caller gets an answer and the server goes
//! on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inkcell_engine::kernel::return_free_memory;
use inkcell_engine::notebook::visible_line;
use inkcell_engine::registry::OwnerId;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::executions::{self, EndWatch};
use super::order::Ticket;
use super::resources::ResourceError;
use super::roots::ClientRoots;
use super::{answer, instructions, offer, prompts, resources};
use crate::log;
use crate::mcp::desk::{CallContext, Desk, Progress, ToolError, ToolReply, guarded, weight};
use crate::mcp::find;
use crate::words;

/// How many progress reports may wait; further ones are dropped.
const PROGRESS_QUEUE: usize = 4;

/// The server of one client.
pub(crate) struct Server {
    desk: Desk,
    owner: OwnerId,
    tools: Arc<Vec<Tool>>,
    calls: Calls,
    roots: ClientRoots,
    ends: EndWatch,
}

/// The calls of all clients that end together. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Calls {
    /// Set when everything ends: all calls under way are then given up.
    pub(crate) ending: CancellationToken,
    under_way: TaskTracker,
    is_settling: Arc<AtomicBool>,
}

/// The pause after a call before its memory is returned: calls in a row then share the work.
const SETTLE: Duration = Duration::from_secs(1);

impl Calls {
    /// Returns when no call is under way and every process that a call started has been reaped.
    pub(crate) async fn are_over(&self) {
        self.under_way.close();
        self.under_way.wait().await;
    }

    /// Records that a call has ended. A moment later the memory that it freed is returned to the system.
    pub(crate) fn settle(&self) {
        if self.is_settling.swap(true, Ordering::SeqCst) {
            return;
        }
        let is_settling = Arc::clone(&self.is_settling);
        tokio::spawn(async move {
            tokio::time::sleep(SETTLE).await;
            is_settling.store(false, Ordering::SeqCst);
            tokio::task::spawn_blocking(return_free_memory);
        });
    }
}

impl Server {
    /// A server that counts its calls among these.
    pub(crate) fn new(desk: Desk, owner: OwnerId, calls: Calls) -> Server {
        let tools = Arc::new(offer::offered(&desk.exposure));
        Server { desk, owner, tools, calls, roots: ClientRoots::new(), ends: EndWatch::default() }
    }

    /// The desk, with the folders that the client says it works in.
    async fn desk_in_roots(&self) -> Desk {
        Desk { roots: self.roots.known().await, ..self.desk.clone() }
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> ToolReply {
        let name = request.name.to_string();
        let exposure = &self.desk.exposure;
        let spec = match find(&name) {
            Some(spec) if exposure.tools.contains(&spec.name) => spec,
            _ => {
                let message = exposure.refusal(&name);
                let message =
                    message.unwrap_or_else(|| words::tool::not_found(&visible_line(&name), ""));
                let names: Vec<&str> = self.tools.iter().map(|tool| &*tool.name).collect();
                let names = names.join(", ");
                return ToolError::argument(message)
                    .with_next(format!("use one of: {names}"))
                    .into_reply();
            }
        };
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let (progress, told) = mpsc::channel(PROGRESS_QUEUE);
        let token = context.meta.get_progress_token();
        let cancel = self.calls.ending.child_token();
        // A caller that stops waiting drops this future, which cancels the call.
        let _given_up = cancel.clone().drop_guard();
        let turn = Ticket::turn(&context.extensions);
        let giving_up = async {
            context.ct.cancelled().await;
            cancel.cancel();
            std::future::pending::<()>().await;
        };
        let desk = self.desk_in_roots().await;
        let progress = token.is_some().then_some(progress);
        let work = self.calls.under_way.track_future(async {
            if let Some(turn) = &turn {
                turn.comes().await;
            }
            let call = CallContext { owner: self.owner, cancel: cancel.clone(), progress, turn };
            guarded(spec, desk, arguments, call).await
        });
        let telling = async {
            if let Some(token) = token {
                tell(told, &context, token).await;
            }
            std::future::pending::<()>().await;
        };
        let done = tokio::select! {
            done = work => done,
            () = telling => return ToolReply::default(),
            () = giving_up => return ToolReply::default(),
        };
        self.calls.settle();
        let reply = done.unwrap_or_else(ToolError::into_reply);
        if let Some(call) =
            reply.goes_on.as_ref().and_then(|id| self.desk.engine.find_call(id).ok())
        {
            self.ends.tell_end(call, context.peer.clone(), self.calls.ending.clone());
        }
        reply
    }
}

/// Sends progress reports until the call has sent its last one.
async fn tell(
    mut told: mpsc::Receiver<Progress>,
    context: &RequestContext<RoleServer>,
    token: rmcp::model::ProgressToken,
) {
    while let Some(Progress { done, total, message }) = told.recv().await {
        let mut note = ProgressNotificationParam::new(token.clone(), done)
            .with_message(answer::cleaned(message));
        if let Some(total) = total {
            note = note.with_total(total);
        }
        if context.peer.notify_progress(note).await.is_err() {
            // The client is gone, so no report can reach it; the call itself goes on until it is cancelled.
            return;
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("inkcell", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions::of(&self.desk.exposure))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(client) = context.peer.peer_info() {
            log::client(&client.client_info);
        }
        self.roots.ask(context.peer);
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.roots.ask(context.peer);
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (name, began) = (request.name.clone(), Instant::now());
        let reply = self.call(request, context).await;
        log::call(find(&name).map(|spec| spec.name), began, reply.is_error);
        Ok(answer::of(reply).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let artifacts = self.desk.engine.artifacts().clone();
        let cursor = request.and_then(|request| request.cursor);
        let list = move || resources::list(&artifacts, cursor.as_deref());
        let page = tokio::task::spawn_blocking(list).await.map_err(internal)?;
        let page = page.map_err(|error| match error {
            ResourceError::Cursor(_) => ErrorData::invalid_params(answer::cleaned(error), None),
            error => internal(error),
        })?;
        let mut list = ListResourcesResult::with_all_items(page.resources);
        list.next_cursor = page.next;
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    /// Accepts a subscription to any resource. Only calls change, so only they send notifications.
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(id) = request.uri.strip_prefix(executions::SCHEME) {
            let missing = |error| ErrorData::resource_not_found(answer::cleaned(error), None);
            let call = executions::find(&self.desk, id).map_err(missing)?;
            if !call.report().state.is_end() {
                self.ends.tell_end(call, context.peer, self.calls.ending.clone());
            }
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(id) = request.uri.strip_prefix(executions::SCHEME) {
            self.ends.forget(id);
        }
        Ok(())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(id) = request.uri.strip_prefix(executions::SCHEME) {
            let missing = |error| ErrorData::resource_not_found(answer::cleaned(error), None);
            let contents = executions::read(&self.desk, id).map_err(missing)?;
            return Ok(ReadResourceResult::new(vec![contents]).into());
        }
        let (desk, uri) = (self.desk_in_roots().await, request.uri);
        let read = move || resources::read(&desk, &uri);
        let read = tokio::task::spawn_blocking(read).await;
        let contents = read.map_err(internal)?.map_err(|error| {
            if error.is_missing() {
                ErrorData::resource_not_found(answer::cleaned(error), None)
            } else {
                ErrorData::invalid_params(answer::cleaned(error), None)
            }
        })?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list(&self.desk.exposure)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let found = prompts::get(&request.name, request.arguments.as_ref(), &self.desk.exposure);
        let unknown = || {
            let name = visible_line(weight::beginning(&request.name, 200));
            ErrorData::invalid_params(format!("no prompt named {name}"), None)
        };
        Ok(found.ok_or_else(unknown)?.into())
    }

    /// Answers an unknown method with an error that repeats its name.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, answer::cleaned(request.method), None))
    }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(answer::cleaned(error), None)
}
