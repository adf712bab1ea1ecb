//! The decision: one function over one view.

use super::embedded::{HandoffUrl, embed};
use super::message::{Message, MessageKind, Presentation, Severity};
use super::view::{Kind, View};
use super::{Context, FailedReason, Handoff, Host, Next, Poll, Takeover};
use crate::anomaly::Anomaly;
use jiff::Timestamp;

pub(super) const COMPLETED: &str = "completed";
pub(super) const CANCELED: &str = "canceled";
const ESCALATION: &str = "requires_escalation";
pub(super) const IN_PROGRESS: &str = "complete_in_progress";
const READY: &str = "ready_for_complete";
const INCOMPLETE: &str = "incomplete";

/// Whether it is a status of a checkout.
pub(super) fn is_known(status: &str) -> bool {
    [
        COMPLETED,
        CANCELED,
        ESCALATION,
        IN_PROGRESS,
        READY,
        INCOMPLETE,
    ]
    .contains(&status)
}

impl View {
    /// What happens next. The first rule that fits decides; see [`Handoff`] for the rules.
    #[must_use]
    pub fn decide(&self, host: &Host) -> Handoff {
        self.clone().into_decision(host)
    }

    pub(crate) fn into_decision(mut self, host: &Host) -> Handoff {
        let mut context = self.context();
        let until = self.until(&mut context);
        let url = self.usable_url(host, &mut context);
        let status = self.status.take();
        let status = status.as_deref();
        let mut messages = Vec::new();
        if self.kind != Kind::Resource || url.is_none() {
            // It may fail, and then all messages are told in their order.
            messages.clone_from(&self.messages);
        }
        let (blockers, shown) = std::mem::take(&mut self.messages)
            .into_iter()
            .partition::<Vec<Message>, _>(Message::is_error);
        for message in shown {
            if message.is_disclosure() {
                context.disclosures.push(message);
            } else if message.kind == MessageKind::Warning {
                context.notices.push(message);
            }
        }

        if status == Some(COMPLETED) {
            if self.order.is_none() {
                context.anomalies.push(Anomaly::NoOrder);
            }
            return Handoff::Completed {
                order: self.order,
                blockers,
                context,
            };
        }
        if self.order.is_some() {
            context.anomalies.push(Anomaly::EarlyOrder);
        }
        if status == Some(CANCELED) {
            return Handoff::Canceled { blockers, context };
        }
        let failed = |reason, continue_url, blockers, context| Handoff::Failed {
            reason,
            messages,
            continue_url,
            blockers,
            context,
        };
        match self.kind {
            Kind::Error => return failed(FailedReason::NoResource, url, blockers, context),
            Kind::Refusal => return failed(FailedReason::RequestRefused, url, blockers, context),
            Kind::Resource => {}
        }
        // An update is not allowed once completion was accepted.
        if status != Some(IN_PROGRESS) {
            context.fix_first = blockers
                .iter()
                .filter(|blocker| blocker.severity == Some(Severity::Recoverable))
                .cloned()
                .collect();
        }
        let poll = Some(Poll::until(until));
        let discloses = !context.disclosures.is_empty();
        if let Some(reason) = takeover(status, &blockers, discloses, url.is_some(), host) {
            context.poll = poll;
            let Some(url) = url else {
                return failed(FailedReason::MissingContinueUrl, None, blockers, context);
            };
            return self.hand_over(reason, url, until, host, blockers, context);
        }
        let next = match status {
            Some(IN_PROGRESS) => {
                context.poll = poll;
                Next::Poll
            }
            Some(READY) => Next::Complete,
            Some(INCOMPLETE) => Next::Update,
            _ => {
                context.poll = poll;
                context.anomalies.push(Anomaly::UnknownStatus);
                return match url {
                    Some(url) => Handoff::ContinueUrl {
                        url,
                        reason: Takeover::UnknownStatus,
                        until,
                        blockers,
                        context,
                    },
                    None => failed(FailedReason::UnknownStatus, None, blockers, context),
                };
            }
        };
        Handoff::Conversational {
            next,
            continue_url: url,
            until,
            blockers,
            context,
        }
    }

    fn hand_over(
        &self,
        reason: Takeover,
        url: HandoffUrl,
        until: Option<Timestamp>,
        host: &Host,
        blockers: Vec<Message>,
        mut context: Context,
    ) -> Handoff {
        if let Some(binding) = self.embedded.as_ref().filter(|_| host.embeds) {
            match &self.version {
                Some(version) => {
                    let embedding = embed(&url, binding, version, host);
                    context.anomalies.extend(embedding.anomaly);
                    return Handoff::Embedded {
                        url: embedding.url,
                        origin: embedding.origin,
                        delegates: embedding.delegates,
                        reason,
                        until,
                        blockers,
                        context,
                    };
                }
                None => context.anomalies.push(Anomaly::NoVersion),
            }
        }
        Handoff::ContinueUrl {
            url,
            reason,
            until,
            blockers,
            context,
        }
    }

    /// What looks wrong with the messages.
    fn context(&self) -> Context {
        let mut context = Context::default();
        for (index, message) in self.messages.iter().enumerate() {
            match message.kind {
                MessageKind::Error => {
                    if self.kind != Kind::Refusal && has_unknown_severity(message) {
                        context.anomalies.push(Anomaly::UnknownSeverity(index));
                    }
                }
                MessageKind::Warning => {
                    if message.presentation == Some(Presentation::Unknown) {
                        context.anomalies.push(Anomaly::UnknownPresentation(index));
                    }
                }
                MessageKind::Info => {}
                MessageKind::Unknown => context.anomalies.push(Anomaly::UnknownMessage(index)),
            }
        }
        context
    }

    fn until(&self, context: &mut Context) -> Option<Timestamp> {
        if self.unreadable_expiry {
            context.anomalies.push(Anomaly::UnreadableExpiry);
        }
        self.expires_at
    }

    fn usable_url(&self, host: &Host, context: &mut Context) -> Option<HandoffUrl> {
        match HandoffUrl::check(self.continue_url.as_deref()?, host.development) {
            Ok(url) => Some(url),
            Err(problem) => {
                context
                    .anomalies
                    .push(Anomaly::UnusableContinueUrl(problem));
                None
            }
        }
    }
}

/// Why the buyer takes over, if that is so.
fn takeover(
    status: Option<&str>,
    blockers: &[Message],
    discloses: bool,
    url_usable: bool,
    host: &Host,
) -> Option<Takeover> {
    let any = |severity: Severity| {
        blockers
            .iter()
            .any(|blocker| blocker.severity.as_ref() == Some(&severity))
    };
    if any(Severity::RequiresBuyerInput) {
        Some(Takeover::BuyerInput)
    } else if any(Severity::RequiresBuyerReview) {
        Some(Takeover::BuyerReview)
    } else if status == Some(ESCALATION) {
        Some(Takeover::Escalation)
    } else if discloses && !host.renders_disclosures {
        Some(Takeover::Disclosure)
    } else if url_usable && blockers.iter().any(has_unknown_severity) {
        Some(Takeover::UnknownSeverity)
    } else {
        None
    }
}

fn has_unknown_severity(message: &Message) -> bool {
    matches!(message.severity, None | Some(Severity::Unknown(_)))
}
