import type { Notice } from '../notices/notice.ts';
import { textOfNotice } from './notice-text.ts';

/** The body of a request to an incoming webhook. */
export interface SlackMessage {
  readonly text: string;
  readonly unfurl_links: false;
  readonly unfurl_media: false;
}

/** A message in Slack's markup, in which text from outside can neither mention anybody nor make a link. */
export function slackMessage(notice: Notice, publicUrl: string): SlackMessage {
  const { subject, sentence, question, action, url } = textOfNotice(notice, publicUrl);
  const quoted = question.split('\n').map((line) => `> ${escapeMarkup(line)}`);
  const lines = [
    `*${escapeMarkup(subject).replaceAll('*', '∗')}*`,
    escapeMarkup(sentence),
    ...(question === '' ? [] : quoted),
    `<${url}|${action}>`,
  ];
  return { text: lines.join('\n'), unfurl_links: false, unfurl_media: false };
}

/** Slack reads mentions and links only in angle brackets. */
function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
