import { readFileSync } from 'node:fs';
import { type ConsoleOptions, callbackPath, type ProviderSecret } from '@baton/console/server';
import { OutboundClient } from '@baton/kernel/outbound/outbound';
import { createClient } from '@baton/sdk';
import type { PlatformSettings } from './config.ts';
import { reportProviderFailures } from './provider-failures.ts';
import { StartError } from './start-error.ts';

interface SignInParts {
  readonly tenantId: string;
  /** The admin secret of identity. */
  readonly adminSecret: string;
  readonly coordinationUrl: string;
  readonly identityUrl: string;
  /** Hosts that may be private, unless the settings name others. */
  readonly allowedHosts: readonly string[];
  /** The public URL of the console. */
  readonly publicUrl: string;
  /** Prints a line for the operator. */
  say(line: string): void;
}

/**
 * Configures sign-in with the tenant's identity providers; undefined if the settings contain none.
 * @throws StartError for a secrets file that can't be read
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
  const { tenantId, adminSecret, coordinationUrl, identityUrl, allowedHosts, publicUrl, say } = parts;
  const secrets = secretsIn(settings.BATON_CONSOLE_SECRETS_FILE);
  const { identity } = createClient({ coordinationUrl, identityUrl, adminSecret, deadlineMs: 10_000 });
  const allowed = settings.IAM_OUTBOUND_ALLOWED_HOSTS;
  const outbound = new OutboundClient({ allowedHosts: allowed.length > 0 ? allowed : allowedHosts });
  return {
    tenantId,
    redirectUri: publicUrl.replace(/\/+$/, '') + callbackPath,
    providers: new Map(keys.map((key) => [key, secrets.get(key)])),
    read: (key) => identity.identityProviders.get(tenantId, key),
    outbound: reportProviderFailures(outbound, say),
  };
}

/** Parses lines `key address secret`, or `key:secret`, which uses the first discovered address. */
function secretsIn(path: string): Map<string, ProviderSecret> {
  if (path === '') return new Map();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new StartError(`Cannot read BATON_CONSOLE_SECRETS_FILE ${path}.`, { cause });
  }
  const secrets = text
    .split('\n')
    .map((line, place) => (line.trim() === '' ? undefined : parseSecretLine(line, place + 1)));
  return new Map(secrets.filter((secret) => secret !== undefined));
}

/** @throws StartError for an invalid line; the message omits the line, which is secret */
function parseSecretLine(line: string, number: number): readonly [key: string, ProviderSecret] {
  const [, key, address, secret] = /^([^:\s]+)(?:\s+(https?:\/\/\S+)\s+|:)(\S+)\s*$/.exec(line) ?? [];
  const isAddress = address === undefined || URL.canParse(address);
  if (key === undefined || secret === undefined || !isAddress)
    throw new StartError(
      `BATON_CONSOLE_SECRETS_FILE: line ${number} must be "key address secret", for example: corporate https://login.example.com the-secret`,
    );
  return [key, { text: secret, address: address === undefined ? undefined : new URL(address).origin }];
}
