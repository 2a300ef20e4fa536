import { readFileSync } from 'node:fs';
import { type ConsoleOptions, callbackPath } from '@baton/console/server';
import { OutboundClient } from '@baton/kernel/outbound';
import { createClient } from '@baton/sdk';
import type { PlatformSettings } from './config.ts';
import { StartError } from './start-error.ts';

interface SignInParts {
  readonly tenantId: string;
  /** Of identity's administration. */
  readonly adminSecret: string;
  readonly coordinationUrl: string;
  readonly identityUrl: string;
  /** Hosts that may be private, where the settings name none. */
  readonly allowedHosts: readonly string[];
  /** Where browsers reach the console. */
  readonly publicUrl: string;
}

/**
 * How people sign in to the console through the tenant's identity providers; undefined where the settings name none.
 * @throws StartError for a file of secrets that can't be read
 */
export function consoleSignIn(
  settings: Pick<
    PlatformSettings,
    'BATON_CONSOLE_PROVIDERS' | 'BATON_CONSOLE_SECRETS_FILE' | 'IAM_OUTBOUND_ALLOWED_HOSTS'
  >,
  parts: SignInParts,
): ConsoleOptions['signIn'] {
  const keys = settings.BATON_CONSOLE_PROVIDERS;
  if (keys.length === 0) return undefined;
  const { tenantId, adminSecret, coordinationUrl, identityUrl, allowedHosts, publicUrl } = parts;
  const secrets = secretsIn(settings.BATON_CONSOLE_SECRETS_FILE);
  const { identity } = createClient({ coordinationUrl, identityUrl, adminSecret, deadlineMs: 10_000 });
  const allowed = settings.IAM_OUTBOUND_ALLOWED_HOSTS;
  return {
    tenantId,
    redirectUri: publicUrl.replace(/\/+$/, '') + callbackPath,
    providers: new Map(keys.map((key) => [key, secrets.get(key)?.secret])),
    async read(key) {
      const provider = await identity.identityProviders.get(tenantId, key);
      requireSameAddress(key, provider.issuer, secrets.get(key));
      return provider;
    },
    outbound: new OutboundClient({ allowedHosts: allowed.length > 0 ? allowed : allowedHosts }),
  };
}

interface BoundSecret {
  readonly secret: string;
  /** Scheme, host and port of the issuer for which it was entered; undefined until a provider without one is first read. */
  origin: string | undefined;
}

/**
 * Lets no secret go to another address than the one for which it was entered: whoever changes the provider at identity would
 * be sent it otherwise.
 * @throws Error for a provider whose issuer has moved since
 */
function requireSameAddress(key: string, issuer: string, bound: BoundSecret | undefined): void {
  if (bound === undefined) return;
  const { origin } = new URL(issuer);
  bound.origin ??= origin;
  if (origin === bound.origin) return;
  throw new Error(
    `The secret of ${key} in BATON_CONSOLE_SECRETS_FILE is for ${bound.origin}, and the provider is at ${origin} now. ` +
      `Enter the secret for that address: ${key} ${origin} <secret>.`,
  );
}

function secretsIn(path: string): Map<string, BoundSecret> {
  if (path === '') return new Map();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new StartError(`BATON_CONSOLE_SECRETS_FILE ${path} can't be read.`, { cause });
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return new Map(lines.map((line, place) => secretIn(line, place + 1)));
}

/** `key address secret`, or `key:secret` for the address that the provider has when it is first used. */
function secretIn(line: string, number: number): [string, BoundSecret] {
  const [, boundKey, address, boundSecret] = /^([^:\s]+)\s+(https?:\/\/\S+)\s+(\S+)\s*$/.exec(line) ?? [];
  if (boundKey !== undefined && boundSecret !== undefined && URL.canParse(address as string))
    return [boundKey, { secret: boundSecret, origin: new URL(address as string).origin }];
  const [, key, secret] = /^([^:\s]+):(\S+)\s*$/.exec(line) ?? [];
  if (key === undefined || secret === undefined)
    throw new StartError(
      `BATON_CONSOLE_SECRETS_FILE: line ${number} must be \`key address secret\`, with the address of the issuer.`,
    );
  return [key, { secret, origin: undefined }];
}
