import type { Sink } from '../../ledger/sinks/sink.ts';
import type { Settings } from '../settings.ts';
import { keyFileOf, openUnsubscribeLinks } from '../unsubscribe/unsubscribe-links.ts';
import { openMailSink } from './mail-sink.ts';
import { type ChannelTools, sinkNames } from './notification-sinks.ts';
import { openSlackSink } from './slack-sink.ts';
import { readSmtpSettings } from './smtp-settings.ts';

/**
 * Opens the sinks of the configured channels, without connecting yet. Events for a channel that isn't configured are
 * discarded: they would be stale by the time the channel is configured.
 */
export function openNotificationSinks(tools: ChannelTools): { open: Sink[]; discarded: string[] } {
  const { settings } = tools;
  const smtp = readSmtpSettings(settings);
  const links = openUnsubscribeLinks(settings);
  const open = [
    ...(smtp === undefined || links === undefined ? [] : [openMailSink(tools, smtp, links)]),
    ...(settings.CP_SLACK_ENABLED ? [openSlackSink(tools)] : []),
  ];
  const discarded = Object.values(sinkNames).filter((name) => open.every((sink) => sink.name !== name));
  return { open, discarded };
}

/** @throws Error with one sentence for settings that would only fail later */
export function checkNotificationSettings(settings: Settings): void {
  const { CP_SMTP_HOST: host, CP_SLACK_ENABLED: hasSlack, CP_PUBLIC_URL: url } = settings;
  if (url !== '' && !isWebAddress(url))
    throw new Error(
      'CP_PUBLIC_URL must be an address such as https://baton.example.com, without query and fragment.',
    );
  if (settings.CP_NOTIFICATIONS_KEY_FILE !== '') openUnsubscribeLinks(settings);
  const needs = host !== '' ? 'CP_SMTP_HOST' : hasSlack ? 'CP_SLACK_ENABLED' : undefined;
  if (needs === undefined) return;
  if (url === '') throw new Error(`${needs} requires CP_PUBLIC_URL, for the links in notifications.`);
  if (!settings.CP_OUTBOX_ENABLED) throw new Error(`${needs} requires CP_OUTBOX_ENABLED.`);
  readSmtpSettings(settings);
  if (host !== '' && keyFileOf(settings) === '')
    throw new Error('CP_SMTP_HOST requires CP_NOTIFICATIONS_KEY_FILE or CP_SECRET_STORE_KEY_FILE.');
  if (hasSlack && settings.CP_SECRET_STORE_URL === '' && settings.CP_SECRET_STORE_KEY_FILE === '')
    throw new Error(
      'CP_SLACK_ENABLED requires a secret store: CP_SECRET_STORE_KEY_FILE or CP_SECRET_STORE_URL.',
    );
}

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text) || /[\s<>"]/.test(text)) return false;
  const { protocol, search, hash, username, password } = new URL(text);
  const isPlain = search === '' && hash === '' && username === '' && password === '';
  return (protocol === 'https:' || protocol === 'http:') && isPlain;
}
