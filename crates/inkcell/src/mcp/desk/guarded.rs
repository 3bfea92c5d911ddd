//! Calls of tools that cannot harm their caller.
//!
//! Owns the fate of a panic: it becomes an error of that one call.

use inkcell_engine::Kind;
use serde_json::Value;

use super::{CallContext, Desk, ToolError, ToolReply, ToolSpec};
use crate::words;

/// Calls a tool in a task of its own, so that a panic in it becomes an error value here.
pub(crate) async fn guarded(
    spec: &'static ToolSpec,
    desk: Desk,
    arguments: Value,
    context: CallContext,
) -> Result<ToolReply, ToolError> {
    let work = tokio::spawn(async move { (spec.call)(&desk, arguments, context).await });
    work.await.unwrap_or_else(|_| {
        Err(ToolError {
            kind: Kind::Internal,
            message: words::tool::failed_inside(spec.name),
            next: Some(words::tool::TRY_ANOTHER_WAY.to_owned()),
        })
    })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use inkcell_engine::registry::OwnerId;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::mcp::desk::{Hints, Order, Turns};
    use crate::mcp::tools::tests::TestDesk;
    use crate::mcp::{TOOLS, find};

    static BROKEN: ToolSpec = ToolSpec {
        name: "broken",
        description: "",
        hints: Hints::reading(""),
        order: Order::None,
        schema: |_| Value::Null,
        call: |_, _, _| async { panic!("broken on purpose") }.boxed(),
    };

    fn context() -> CallContext {
        CallContext::new(OwnerId(1), CancellationToken::new())
    }

    /// Issue 21, 1: a later request for the same session or file does not begin while a call is under way. A call
    /// that drops a part of its context would give its turn up too early.
    #[tokio::test]
    async fn every_tool_holds_its_turn() {
        let desk = TestDesk::on_files();
        let turns = Turns::at(&desk.desk);
        let given = serde_json::json!({"path": "a.ipynb", "session": "a.ipynb"});
        let named = given.as_object().expect("arguments");
        for spec in TOOLS.iter().filter(|spec| spec.order != Order::None) {
            let mut context = context();
            context.turn = Some(turns.take(spec.order, named));
            let call = (spec.call)(&desk.desk, given.clone(), context);
            let later = turns.take(Order::File, named);
            assert!(later.comes().now_or_never().is_none(), "{}", spec.name);
            drop(call);
            assert!(later.comes().now_or_never().is_some(), "{}", spec.name);
        }
    }

    /// A tool that panics is answered like one that fails, and the next call is not affected.
    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let desk = TestDesk::on_files();
        let failed = guarded(&BROKEN, desk.desk.clone(), Value::Null, context()).await;
        let error = failed.expect_err("it failed");
        assert_eq!(error.kind, Kind::Internal);
        assert!(error.message.contains("internal error in broken"), "{error:?}");
        desk.put("a.txt", "seen");
        let arguments = serde_json::json!({"path": "a.txt"});
        let spec = find("read").expect("a tool");
        assert!(guarded(spec, desk.desk.clone(), arguments, context()).await.is_ok());
    }
}
