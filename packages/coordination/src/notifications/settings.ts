import { choice, flag, integer, list, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../processes/settings.ts';

const seconds = 'seconds';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_PUBLIC_URL: text({
    default: '',
    doc: 'The address of the console as browsers reach it, for the links in notifications. In the default run it is IAM_PUBLIC_URL, or the local address.',
  }),
  CP_SMTP_HOST: text({
    default: '',
    doc: 'The SMTP server that sends notifications by e-mail. Empty: none are sent. It requires CP_MAIL_FROM, CP_PUBLIC_URL, CP_OUTBOX_ENABLED and a key (CP_NOTIFICATIONS_KEY_FILE).',
  }),
  CP_SMTP_PORT: integer({ default: 587, min: 1, max: 65535, doc: 'Its port; usually 465 for `implicit`.' }),
  CP_SMTP_TLS: choice(['starttls', 'implicit', 'none'], {
    default: 'starttls',
    doc: '`starttls` requires STARTTLS, `implicit` uses TLS from the first byte; both verify the certificate. `none` sends everything in clear, including the password: only for a server on this machine.',
  }),
  CP_SMTP_CA_FILE: text({
    default: '',
    doc: 'A file with the certificates (PEM) of authorities that are accepted for the server besides the public ones.',
  }),
  CP_SMTP_USER: text({ default: '', doc: 'The user at the SMTP server; empty: no authentication.' }),
  CP_SMTP_PASSWORD_FILE: text({
    default: '',
    doc: 'The file with the password of CP_SMTP_USER; blanks around it are ignored.',
  }),
  CP_SMTP_CONNECTIONS_MAX: integer({
    default: 4,
    min: 1,
    max: 50,
    unit: 'connections',
    doc: 'The maximum number of connections of a worker to the SMTP server. One tenant uses at most half of them.',
  }),
  CP_SMTP_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    max: 10,
    unit: seconds,
    doc: 'The timeout of one e-mail, and of each step of a connection to the SMTP server.',
  }),
  CP_MAIL_FROM: text({
    default: '',
    doc: 'The sender of notifications: an address, or `Baton <baton@example.com>`.',
  }),
  CP_MAIL_ALLOWED_DOMAINS: list({
    default: [],
    doc: 'The domains to which notifications are sent, for instance `["example.com"]`; empty: all. People choose the address of their notifications, so name your own domains if nothing may leave them.',
  }),
  CP_NOTIFICATIONS_KEY_FILE: text({
    default: '',
    doc: 'A file with the keys that sign unsubscribe links, in the form of CP_SECRET_STORE_KEY_FILE, which is used if this is empty. The first key signs; links signed with any of the keys are accepted.',
  }),
  CP_NOTIFICATIONS_RECIPIENTS_MAX: integer({
    default: 50,
    min: 1,
    max: 500,
    unit: 'people',
    doc: 'The maximum number of people notified of one event, for instance with a large role; everybody else sees it in the inbox.',
  }),
  CP_NOTIFICATIONS_HOURLY_MAX: integer({
    default: 60,
    min: 1,
    max: 10_000,
    unit: 'messages',
    doc: 'The maximum number of messages of a tenant to an e-mail address, or to the webhook of a person, in any hour. Any further e-mails wait for the digest; any further Slack messages are left out.',
  }),
  CP_NOTIFICATIONS_RECORD_SECONDS: integer({
    default: 2_592_000,
    min: 86_400,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long the records of what was sent to whom are kept. A dead letter that is redriven later may reach somebody twice.',
  }),
  CP_SLACK_ENABLED: flag({
    default: false,
    doc: "Whether notifications are also sent to Slack's incoming webhooks, which people and administrators enter. It requires CP_PUBLIC_URL, CP_OUTBOX_ENABLED and a secret store.",
  }),
  CP_SLACK_CHANNEL_HOURLY_MAX: integer({
    default: 300,
    min: 1,
    max: 3600,
    unit: 'messages',
    doc: 'The maximum number of messages to the Slack channel of a tenant in any hour; any further ones are left out. Slack accepts about one per second.',
  }),
  CP_SLACK_WEBHOOK_HOSTS: list({
    default: ['hooks.slack.com', 'hooks.slack-gov.com'],
    doc: 'The hosts of webhooks that are accepted (`host` or `host:port`). They must be public and reached over https, unless CP_OUTBOUND_ALLOWED_HOSTS names them.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
