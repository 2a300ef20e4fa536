/** The name and version that a client reports; other members of `clientInfo` are ignored. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Since protocol version 2026-07-28 each request contains this in `_meta`; before, only `initialize` contained it. */
const metaKey = 'io.modelcontextprotocol/clientInfo';
/** The maximum length in characters, as in coordination's sessions. */
const nameMax = 200;
const versionMax = 100;

/** The client of a message, identified by its title or its name; undefined if the message doesn't contain it. */
export function clientInfoIn(message: object | undefined): ClientInfo | undefined {
  const { params } = (message ?? {}) as {
    params?: { clientInfo?: unknown; _meta?: Record<string, unknown> };
  };
  const given = params?.clientInfo ?? params?._meta?.[metaKey];
  if (typeof given !== 'object' || given === null) return undefined;
  const { title, name, version } = given as Record<string, unknown>;
  const shown = [title, name].map(textOf).find((text) => text !== '');
  if (shown === undefined) return undefined;
  return { name: shown.slice(0, nameMax), version: textOf(version).slice(0, versionMax) };
}

/** Removes control characters, which coordination rejects. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(/\p{Cc}/gu, '').trim() : '';
}
