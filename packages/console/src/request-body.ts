import type { IncomingMessage } from 'node:http';
import { ConsoleRefusal } from './refusal.ts';

const usualBytesMax = 8192;

/**
 * Reads a JSON object with these members, all of them optional strings.
 * @throws ConsoleRefusal for any other body, and for a request from another site: browsers send JSON across origins
 * only after a preflight request
 */
export async function readBody<Name extends string>(
  req: IncomingMessage,
  names: readonly Name[],
  bodyBytesMax = usualBytesMax,
): Promise<Partial<Record<Name, string>>> {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new ConsoleRefusal(403, 'origin_not_allowed', 'Only pages of the console can send this request.');
  if (!/^application\/json\b/.test(req.headers['content-type'] ?? ''))
    throw invalid('The content type must be application/json.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax)
      throw new ConsoleRefusal(413, 'payload_too_large', `The body must not exceed ${bodyBytesMax} bytes.`);
    chunks.push(chunk);
  }
  return validateMembers(parseJson(Buffer.concat(chunks).toString()), names);
}

function validateMembers<Name extends string>(
  body: unknown,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('The body must be a JSON object.');
  const values = body as Record<string, unknown>;
  if (
    Object.keys(values).some((name) => !names.includes(name as Name)) ||
    names.some((name) => values[name] !== undefined && typeof values[name] !== 'string')
  )
    throw invalid(`The body accepts these members, as strings: ${names.join(', ') || 'none'}.`);
  return values as Partial<Record<Name, string>>;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** @throws ConsoleRefusal for an absent or empty member */
export function requireText(name: string, value: string | undefined): string {
  if (value !== undefined && value !== '') return value;
  throw invalid(`\`${name}\` is required.`);
}

/** The browser's credential, a JSON object that identity validates. @throws ConsoleRefusal */
export function readCredential<Credential extends object>(json: string | undefined): Credential {
  const credential = parseJson(json ?? '');
  if (typeof credential === 'object' && credential !== null && !Array.isArray(credential))
    return credential as Credential;
  throw invalid('`credential` must be an object as JSON.');
}

function invalid(message: string): ConsoleRefusal {
  return new ConsoleRefusal(400, 'invalid_request', message);
}
