//! Between the types of the WIT package and those of the protocol. Nothing is checked here; `check` does that.

use mainstay_protocol::{
    content::{CallResult, Extension, Item, ItemBody, Media, Message, Notice, Part, Role, Source, ToolCall},
    failure::{ErrorKind, PluginError},
    model::{Finish, FinishReason, ModelRequest, ToolChoice, ToolOffer, Usage},
    tool::{Approval, Effect, Execution, ToolDefinition},
};

use crate::bindings::mainstay::plugin::{content, errors, items, model_data, tool_definitions};

/// Maps enums case by case, both ways.
macro_rules! same_cases {
    ($wit:path, $own:path, [$($case:ident),+ $(,)?]) => {
        impl From<$wit> for $own {
            fn from(from: $wit) -> Self {
                match from { $(<$wit>::$case => Self::$case,)+ }
            }
        }

        impl From<$own> for $wit {
            fn from(from: $own) -> Self {
                match from { $(<$own>::$case => Self::$case,)+ }
            }
        }
    };
}

same_cases!(items::Role, Role, [System, User, Assistant]);
same_cases!(tool_definitions::Effect, Effect, [Pure, Idempotent, AtMostOnce]);
same_cases!(tool_definitions::Execution, Execution, [Parallel, Exclusive]);
same_cases!(tool_definitions::Approval, Approval, [Unneeded, Ask, AskEachTime]);
same_cases!(model_data::FinishReason, FinishReason, [Complete, ToolCalls, Length, Filtered, Paused, Other]);
same_cases!(
    errors::ErrorKind,
    ErrorKind,
    [
        InvalidArgument,
        NotFound,
        Denied,
        Conflict,
        LimitExceeded,
        Unavailable,
        TimedOut,
        Cancelled,
        Unsupported,
        Internal
    ]
);

/// Converts each element.
pub(crate) fn all<A: Into<B>, B>(list: impl IntoIterator<Item = A>) -> Vec<B> {
    list.into_iter().map(Into::into).collect()
}

impl From<content::Source> for Source {
    fn from(from: content::Source) -> Self {
        match from {
            content::Source::Inline(bytes) => Self::Inline(bytes),
            content::Source::Blob(reference) => Self::Blob(reference),
            content::Source::Uri(uri) => Self::Uri(uri),
        }
    }
}

impl From<Source> for content::Source {
    fn from(from: Source) -> Self {
        match from {
            Source::Inline(bytes) => Self::Inline(bytes),
            Source::Blob(reference) => Self::Blob(reference),
            Source::Uri(uri) => Self::Uri(uri),
        }
    }
}

impl From<content::Part> for Part {
    fn from(from: content::Part) -> Self {
        match from {
            content::Part::Text(text) => Self::Text(text),
            content::Part::Json(text) => Self::Json(text),
            content::Part::Media(content::Media { media_type, source, name, extras }) => {
                Self::Media(Media { media_type, source: source.into(), name, extras })
            }
            content::Part::Extension(content::Extension { kind, data }) => Self::Extension(Extension { kind, data }),
        }
    }
}

impl From<Part> for content::Part {
    fn from(from: Part) -> Self {
        match from {
            Part::Text(text) => Self::Text(text),
            Part::Json(text) => Self::Json(text),
            Part::Media(Media { media_type, source, name, extras }) => {
                Self::Media(content::Media { media_type, source: source.into(), name, extras })
            }
            Part::Extension(Extension { kind, data }) => Self::Extension(content::Extension { kind, data }),
        }
    }
}

impl From<items::Message> for Message {
    fn from(from: items::Message) -> Self {
        Self { role: from.role.into(), content: all(from.content) }
    }
}

impl From<Message> for items::Message {
    fn from(from: Message) -> Self {
        Self { role: from.role.into(), content: all(from.content) }
    }
}

impl From<ToolCall> for items::ToolCall {
    fn from(from: ToolCall) -> Self {
        Self { call_id: from.call_id, name: from.name, arguments: from.arguments }
    }
}

impl From<CallResult> for items::CallResult {
    fn from(from: CallResult) -> Self {
        let CallResult { call_id, name, content, is_error, extras } = from;
        Self { call_id, name, content: all(content), is_error, extras }
    }
}

impl From<ItemBody> for items::ItemBody {
    fn from(from: ItemBody) -> Self {
        match from {
            ItemBody::Message(message) => Self::Message(message.into()),
            ItemBody::Reasoning(text) => Self::Reasoning(text),
            ItemBody::ToolCall(call) => Self::ToolCall(call.into()),
            ItemBody::ToolResult(result) => Self::ToolResult(result.into()),
            ItemBody::Notice(Notice { code, text }) => Self::Notice(items::Notice { code, text }),
        }
    }
}

/// An item as a guest sees it. Its private part is shown only for the context group that made it.
pub(crate) fn item(from: &Item, context_group: Option<&str>) -> items::Item {
    items::Item {
        ordinal: from.id.0,
        turn: from.turn.as_ref().map(ToString::to_string),
        at_ms: from.at.as_millis(),
        body: from.body.clone().into(),
        private_part: private_part(from, context_group).map(<[u8]>::to_vec),
        extras: from.extras.clone(),
    }
}

/// The private part of an item, if it belongs to a context group.
pub(crate) fn private_part<'a>(item: &'a Item, context_group: Option<&str>) -> Option<&'a [u8]> {
    let private = item.private_part.as_ref()?;
    (context_group == Some(private.context_group.as_str())).then_some(private.bytes.as_slice())
}

impl From<errors::Error> for PluginError {
    fn from(from: errors::Error) -> Self {
        let errors::Error { kind, code, message, retry_after_ms, extras } = from;
        Self { kind: kind.into(), code, message, retry_after_ms, extras }
    }
}

impl From<tool_definitions::ToolDefinition> for ToolDefinition {
    fn from(from: tool_definitions::ToolDefinition) -> Self {
        Self {
            name: from.name,
            description: from.description,
            input_schema: from.input_schema,
            output_schema: from.output_schema,
            effect: from.effect.into(),
            execution: from.execution.into(),
            approval: from.approval.into(),
            extras: from.extras,
        }
    }
}

impl From<ToolDefinition> for tool_definitions::ToolDefinition {
    fn from(from: ToolDefinition) -> Self {
        Self {
            name: from.name,
            description: from.description,
            input_schema: from.input_schema,
            output_schema: from.output_schema,
            effect: from.effect.into(),
            execution: from.execution.into(),
            approval: from.approval.into(),
            extras: from.extras,
        }
    }
}

impl From<ToolOffer> for model_data::ToolOffer {
    fn from(from: ToolOffer) -> Self {
        let ToolOffer { name, description, input_schema, extras } = from;
        Self { name, description, input_schema, extras }
    }
}

impl From<ToolChoice> for model_data::ToolChoice {
    fn from(from: ToolChoice) -> Self {
        match from {
            ToolChoice::Auto => Self::Auto,
            ToolChoice::Forbidden => Self::Forbidden,
            ToolChoice::Required => Self::Required,
            ToolChoice::Named(name) => Self::Named(name),
        }
    }
}

impl From<ModelRequest> for model_data::ModelRequest {
    fn from(from: ModelRequest) -> Self {
        Self {
            model: from.model,
            settings: from.settings,
            system: from.system,
            tools: all(from.tools),
            tool_choice: from.tool_choice.into(),
            output_schema: from.output_schema,
            max_output_tokens: from.max_output_tokens,
            extras: from.extras,
        }
    }
}

impl From<model_data::Usage> for Usage {
    fn from(from: model_data::Usage) -> Self {
        Self {
            input_tokens: from.input_tokens.into(),
            output_tokens: from.output_tokens.into(),
            cache_read_tokens: from.cache_read_tokens.map(Into::into),
            cache_write_tokens: from.cache_write_tokens.map(Into::into),
            reasoning_tokens: from.reasoning_tokens.map(Into::into),
            cost_nano_usd: from.cost_nano_usd,
        }
    }
}

impl From<model_data::Finish> for Finish {
    fn from(from: model_data::Finish) -> Self {
        let model_data::Finish { reason, detail, model, response_id, extras: _ } = from;
        Self { reason: reason.into(), detail, model, response_id }
    }
}
