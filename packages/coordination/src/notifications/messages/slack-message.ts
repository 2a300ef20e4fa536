import type { Notice } from '../notices/notice.ts';
import { textOfNotice } from './notice-text.ts';

/** The body of a request to an incoming webhook. */
export interface SlackMessage {
  /** For systems without blocks, such as Mattermost, and for the notification of a device. */
  readonly text: string;
  readonly blocks: readonly SlackSection[];
  readonly unfurl_links: false;
  readonly unfurl_media: false;
}

interface SlackSection {
  readonly type: 'section';
  /**
   * Only a verbatim text leaves bare addresses and names of channels as they are; the `parse` of a webhook is ignored.
   */
  readonly text: { readonly type: 'mrkdwn'; readonly text: string; readonly verbatim: true };
}

/** A section takes 3000 characters, and an escaped character has five. */
const partCharactersMax = 400;

/** A message in Slack's markup, in which text from outside can neither mention anybody nor make a link. */
export function slackMessage(notice: Notice, publicUrl: string): SlackMessage {
  const { subject, sentence, question, action, url } = textOfNotice(notice, publicUrl);
  const head = `*${escapeMarkup(subject).replaceAll('*', '∗')}*\n${escapeMarkup(sentence)}`;
  const link = `<${url}|${action}>`;
  const outside = [head, ...(question === '' ? [] : [quoted(question)])];
  return {
    text: [...outside.map(withoutLinks), link].join('\n'),
    blocks: [head, ...partsOf(question).map(quoted), link].map(section),
    unfurl_links: false,
    unfurl_media: false,
  };
}

function section(text: string): SlackSection {
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
}

function partsOf(text: string): string[] {
  const characters = [...text];
  const count = Math.ceil(characters.length / partCharactersMax);
  return Array.from({ length: count }, (_, place) =>
    characters.slice(place * partCharactersMax, (place + 1) * partCharactersMax).join(''),
  );
}

function quoted(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${escapeMarkup(line)}`)
    .join('\n');
}

/**
 * In text that is not verbatim, zero-width spaces break up page addresses and names of people and channels, so that
 * Slack doesn't recognize them.
 */
function withoutLinks(text: string): string {
  return text.replaceAll(/[@#](?=[\w-])|:(?=\/\/)|\bwww(?=\.)/gi, '$&\u200b');
}

/** Slack reads mentions, and links with a text of their own, only in angle brackets. */
function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
