import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { parseTypePrefixes, typePatternsOf } from '../journal/event-types.ts';
import { parseWebhookSecret } from './signature.ts';
import type { SinkFilter } from './sink.ts';

/** A reference to a secret, which is never in the file itself. */
const SecretReference = z.union([
  z.strictObject({ env: z.string().min(1).max(200) }),
  z.strictObject({ file: z.string().min(1).max(4096) }),
]);
type SecretReference = z.infer<typeof SecretReference>;

const addressOf = (protocols: readonly string[]) =>
  z
    .string()
    .max(2000)
    .refine(
      (text) => isAddress(text, protocols),
      `must be an address that begins with ${protocols.join(' or ')}`,
    )
    .refine((text) => !hasUser(text), 'must not contain a user or a password');

const common = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must consist of lower-case letters, digits and hyphens, at most 63'),
  types: z.array(z.string().max(200)).min(1).max(20).optional(),
  tenants: z.array(z.uuid()).min(1).max(1000).optional(),
  concurrency: z.int().min(1).max(1000).optional(),
  timeoutSeconds: z.int().min(1).max(30).optional(),
};

const LogEntry = z.strictObject({ type: z.literal('log'), ...common });
const DiscardEntry = z.strictObject({ type: z.literal('discard'), name: common.name });
const WebhookEntry = z.strictObject({
  type: z.literal('webhook'),
  ...common,
  url: addressOf(['https:', 'http:']),
  secrets: z.array(SecretReference).min(1).max(5),
});
const NatsEntry = z.strictObject({
  type: z.literal('nats'),
  ...common,
  servers: z
    .array(addressOf(['nats:', 'tls:']))
    .min(1)
    .max(10),
  subjectPrefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, 'must be words of letters, digits, _ and -, joined by dots')
    .max(100)
    .default('baton.events'),
  token: SecretReference.optional(),
  user: z.string().min(1).max(200).optional(),
  password: SecretReference.optional(),
  credentials: SecretReference.optional(),
  tls: z
    .strictObject({
      caFile: z.string().min(1).optional(),
      certFile: z.string().min(1).optional(),
      keyFile: z.string().min(1).optional(),
    })
    .optional(),
});
const SinkEntry = z.discriminatedUnion('type', [LogEntry, DiscardEntry, WebhookEntry, NatsEntry]);
const SinkFile = z.strictObject({ sinks: z.array(SinkEntry).max(16) });

type Read<Entry> = Omit<Entry, 'types' | 'tenants'> & { readonly filter: SinkFilter };
export type LogTarget = Read<z.infer<typeof LogEntry>>;
export type WebhookTarget = Read<Omit<z.infer<typeof WebhookEntry>, 'secrets'>> & {
  readonly secrets: Buffer[];
};
type NatsSecret = 'token' | 'password' | 'credentials';
export type NatsEntryTarget = Read<Omit<z.infer<typeof NatsEntry>, NatsSecret>> & {
  readonly [Name in NatsSecret]: string | undefined;
};
export type SinkTarget = LogTarget | WebhookTarget | NatsEntryTarget | z.infer<typeof DiscardEntry>;

type Environment = Readonly<Record<string, string | undefined>>;

const secretCharactersMax = 65_536;

/**
 * Reads the file of CP_SINKS_FILE.
 * @param env for secrets by `env`; a secret by `file` is a path relative to the sinks' file
 * @throws Error with a one-sentence message, which never repeats a secret
 */
export async function readSinkFile(path: string, env: Environment): Promise<SinkTarget[]> {
  const { sinks } = checked(path, parse(path, await read(path, 'CP_SINKS_FILE')));
  const twice = sinks.find(({ name }, n) => sinks.findIndex((other) => other.name === name) < n);
  if (twice !== undefined) throw new Error(`CP_SINKS_FILE ${path}: two sinks are named ${twice.name}.`);
  return Promise.all(sinks.map((entry) => resolveEntry(entry, { path, env })));
}

interface Origin {
  readonly path: string;
  readonly env: Environment;
}

async function resolveEntry(entry: z.infer<typeof SinkEntry>, origin: Origin): Promise<SinkTarget> {
  if (entry.type === 'discard') return entry;
  const { types: _types, tenants: _tenants, ...rest } = entry;
  const filter = filterOf(entry, origin);
  if (rest.type === 'log') return { ...rest, filter };
  const secretOf = async (reference: SecretReference | undefined) =>
    reference && readSecret(reference, `the sink ${entry.name}`, origin);
  if (rest.type === 'webhook') {
    const secrets = await Promise.all(rest.secrets.map(secretOf));
    return { ...rest, filter, secrets: secrets.map((text) => webhookSecret(text ?? '', entry.name, origin)) };
  }
  if ((rest.user === undefined) !== (rest.password === undefined))
    throw new Error(
      `CP_SINKS_FILE ${origin.path}: the sink ${entry.name} needs both a user and a password, or neither.`,
    );
  const [token, password, credentials] = await Promise.all([
    secretOf(rest.token),
    secretOf(rest.password),
    secretOf(rest.credentials),
  ]);
  return { ...rest, filter, token, password, credentials };
}

function filterOf(
  { name, types, tenants }: { name: string; types?: string[] | undefined; tenants?: string[] | undefined },
  { path }: Origin,
): SinkFilter {
  try {
    return { tenants: tenants ?? null, typePatterns: typePatternsOf(parseTypePrefixes(types)) };
  } catch (error) {
    throw new Error(
      `CP_SINKS_FILE ${path}: types of the sink ${name} must be prefixes such as "task." or "run.started".`,
      {
        cause: error,
      },
    );
  }
}

function webhookSecret(text: string, name: string, { path }: Origin): Buffer {
  const secret = parseWebhookSecret(text);
  if (secret === undefined)
    throw new Error(
      `CP_SINKS_FILE ${path}: a secret of the sink ${name} must be whsec_ and 24 to 64 bytes in base64.`,
    );
  return secret;
}

async function readSecret(reference: SecretReference, whose: string, { path, env }: Origin): Promise<string> {
  const text =
    'env' in reference
      ? env[reference.env]
      : await read(resolve(dirname(path), reference.file), `CP_SINKS_FILE ${path}: the secret of ${whose}`);
  const place = 'env' in reference ? `the environment variable ${reference.env}` : reference.file;
  if (text === undefined || text.trim() === '' || text.length > secretCharactersMax)
    throw new Error(`CP_SINKS_FILE ${path}: ${place}, a secret of ${whose}, is not set or too long.`);
  return text.trim();
}

async function read(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${what} cannot be read from ${path}: ${code}.`, { cause: error });
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the file, which may contain secrets.
    throw new Error(`CP_SINKS_FILE ${path} is not JSON.`);
  }
}

function checked(path: string, document: unknown): z.infer<typeof SinkFile> {
  const { data, error } = SinkFile.safeParse(document);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  const place = issue?.path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('');
  throw new Error(
    `CP_SINKS_FILE ${path}: ${(place ?? '').replace(/^\./, '') || 'the file'}: ${issue?.message}.`,
  );
}

function isAddress(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

function hasUser(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}
