import type { IncomingMessage } from 'node:http';
import { Uuid } from '@baton/values/wire';
import { type JournalCursor, parseCursor } from '../../ledger/journal/cursor.ts';
import { parseTypePrefixes } from '../../ledger/journal/event-types.ts';
import { fail } from '../errors.ts';

export const streamPath = '/api/v1/events/ws';
/**
 * Browsers can't set headers on a WebSocket: they send the token as a second sub-protocol. See
 * docs/reference/journal.md#streams.
 */
export const subProtocol = 'baton';
const tokenPrefix = 'bearer.';

export function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] as string;
}

/** @throws Refusal `invalid_credentials` */
export function credentialOf({ headers }: IncomingMessage): string {
  const fromHeader = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const fromProtocol = offered.find((name) => name.startsWith(tokenPrefix))?.slice(tokenPrefix.length);
  const credential = fromHeader ?? (offered.includes(subProtocol) ? fromProtocol : undefined);
  return credential ?? fail('invalid_credentials', {}, { reason: 'credential_missing' });
}

export interface StreamRequest {
  /** If undefined, the stream starts from the oldest event that still exists. */
  readonly after: JournalCursor | undefined;
  readonly typePrefixes: readonly string[] | undefined;
  readonly workspaceId: string | undefined;
}

/**
 * Ignores unknown query parameters.
 * @throws Refusal `invalid_cursor`, `unsupported_cursor_version`, `invalid_event_type_filter`, `invalid_request`
 */
export function streamRequestOf({ url = '' }: IncomingMessage): StreamRequest {
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length));
  const after = query.get('after');
  const types = query.getAll('types');
  return {
    after: after === null ? undefined : parseCursor(after),
    typePrefixes: parseTypePrefixes(types.length === 0 ? undefined : types),
    workspaceId: parseWorkspaceId(query.get('workspaceId')),
  };
}

function parseWorkspaceId(text: string | null): string | undefined {
  if (text === null) return undefined;
  const parsed = Uuid.safeParse(text);
  return parsed.success ? parsed.data : fail('invalid_request');
}
