import { readFileSync, statSync } from 'node:fs';
import { type ConsoleOptions, callbackPath, type ProviderSecret } from '@baton/console/server';
import { OutboundClient } from '@baton/kernel/outbound/outbound';
import { createClient } from '@baton/sdk';
import type { PlatformSettings } from './config.ts';
import { localhostUrl } from './localhost-twin.ts';
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
 * Configures sign-in with the tenant's identity providers: those in the settings, and those that identity lists as
 * offered, including later ones.
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
  const { tenantId, adminSecret, coordinationUrl, identityUrl, allowedHosts, publicUrl, say } = parts;
  const secrets = new SecretsFile(settings.BATON_CONSOLE_SECRETS_FILE, say);
  const { identity } = createClient({ coordinationUrl, identityUrl, adminSecret, deadlineMs: 10_000 });
  const allowed = settings.IAM_OUTBOUND_ALLOWED_HOSTS;
  const outbound = new OutboundClient({ allowedHosts: allowed.length > 0 ? allowed : allowedHosts });
  return {
    tenantId,
    redirectUri: publicUrl.replace(/\/+$/, '') + callbackPath,
    otherRedirectUris: [localhostUrl(publicUrl).replace(/\/+$/, '') + callbackPath],
    providers: new Set(keys),
    findSecret: (key) => secrets.read().get(key),
    list: () => identity.identityProviders.list(tenantId),
    read: (key) => identity.identityProviders.get(tenantId, key),
    outbound: reportProviderFailures(outbound, say),
  };
}

/**
 * The client secrets of the console. The file is read again after a change, so that a new client needs no restart.
 * While it can't be read, the last secrets are used.
 */
class SecretsFile {
  readonly #path: string;
  readonly #say: (line: string) => void;
  #secrets: ReadonlyMap<string, ProviderSecret>;
  #version: string | undefined;

  /** @throws StartError */
  constructor(path: string, say: (line: string) => void) {
    this.#path = path;
    this.#say = say;
    this.#version = versionOf(path);
    this.#secrets = secretsIn(path);
  }

  read(): ReadonlyMap<string, ProviderSecret> {
    const version = versionOf(this.#path);
    if (version === this.#version) return this.#secrets;
    this.#version = version;
    try {
      this.#secrets = secretsIn(this.#path);
    } catch (error) {
      this.#say(`${(error as Error).message} The previous client secrets remain in use.`);
    }
    return this.#secrets;
  }
}

/** Changes with the file; undefined for none. */
function versionOf(path: string): string | undefined {
  const found = path === '' ? undefined : statSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.ino} ${found.size} ${found.mtimeNs}`;
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
