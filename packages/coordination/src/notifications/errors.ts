import { conflict, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../packages/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  unknown_notification_kind: invalid(
    'There is no such kind of notification.',
    'Use one of the kinds in `details.known`.',
    {
      refused:
        'PUT /notifications/preferences {"kinds":{"decision":{"mail":"off"}}}\nIf-Match: "notification_preferences-2"',
      right:
        'PUT /notifications/preferences {"kinds":{"decision.requested":{"mail":"off"}}}\nIf-Match: "notification_preferences-2"',
    },
  ),
  invalid_email_address: invalid(
    'The e-mail address is malformed, or notifications are not sent to its domain.',
    'See `details.reason`: send an address such as `maria@example.com`, at a domain in CP_MAIL_ALLOWED_DOMAINS if the operator has set it.',
    {
      refused:
        'PUT /notifications/preferences {"email":"Maria <maria@example.com>"}\nIf-Match: "notification_preferences-2"',
      right:
        'PUT /notifications/preferences {"email":"maria@example.com"}\nIf-Match: "notification_preferences-2"',
    },
  ),
  too_many_address_changes: conflict(
    'The caller entered another address for notifications `details.max` times within a day.',
    'Keep the stored address, or `null` for that of your profile, and change it a day later.',
  ),
  mail_not_enabled: conflict(
    'This installation sends no e-mail.',
    'Send the link of the invitation yourself, or have the operator set CP_SMTP_HOST.',
  ),
  too_many_invitation_mails: conflict(
    'In the last day, 500 invitation e-mails of the tenant were sent or are still pending, or 5 were sent to this person (`details.principalId`).',
    'Send the link yourself, or retry a day later. If they remain pending, have the operator check the backlog of the sink `baton:mail`.',
  ),
  slack_not_enabled: conflict(
    'This installation sends nothing to Slack.',
    'Have the operator set CP_SLACK_ENABLED, then retry.',
  ),
  slack_webhook_not_allowed: invalid(
    'The address is not an https address on a host that the operator allows for webhooks.',
    'Send the address of an incoming webhook as Slack shows it, on a host in `details.hosts`.',
    {
      refused: 'PUT /notifications/slack-webhook {"url":"http://hooks.slack.com/services/T0/B0/x"}',
      right: 'PUT /notifications/slack-webhook {"url":"https://hooks.slack.com/services/T0/B0/x"}',
    },
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
