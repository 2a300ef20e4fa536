import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { faultOfAddress } from '../email-address.ts';
import type { Settings } from '../settings.ts';

export interface Sender {
  readonly name: string;
  readonly address: string;
  readonly domain: string;
}

/** Where and how e-mails are sent. */
export interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: 'starttls' | 'implicit' | 'none';
  /** Undefined if only the public authorities are accepted. */
  readonly authorities: readonly string[] | undefined;
  readonly login: { readonly user: string; readonly pass: string } | undefined;
  readonly connectionsMax: number;
  readonly timeoutMs: number;
  readonly from: Sender;
}

/**
 * Reads the settings of the SMTP server and their files.
 * @returns undefined if no server is configured
 * @throws Error with one sentence for settings that would only fail later
 */
export function readSmtpSettings(settings: Settings): SmtpSettings | undefined {
  const { CP_SMTP_HOST: host, CP_SMTP_TLS: tls, CP_SMTP_USER: user } = settings;
  if (host === '') return undefined;
  const isLocal = ['localhost', '127.0.0.1', '::1'].includes(host);
  if (!/^[A-Za-z0-9.:-]{1,253}$/.test(host))
    throw new Error('CP_SMTP_HOST must be the name or address of a host.');
  if ((user === '') !== (settings.CP_SMTP_PASSWORD_FILE === ''))
    throw new Error('CP_SMTP_USER and CP_SMTP_PASSWORD_FILE must be set together or not at all.');
  if (tls === 'none' && user !== '' && !isLocal)
    throw new Error('CP_SMTP_TLS none would send the password in clear: use starttls or implicit.');
  const caFile = settings.CP_SMTP_CA_FILE;
  return {
    host,
    port: settings.CP_SMTP_PORT,
    tls,
    authorities: caFile === '' ? undefined : [...rootCertificates, read('CP_SMTP_CA_FILE', caFile)],
    login:
      user === ''
        ? undefined
        : { user, pass: read('CP_SMTP_PASSWORD_FILE', settings.CP_SMTP_PASSWORD_FILE).trim() },
    connectionsMax: settings.CP_SMTP_CONNECTIONS_MAX,
    timeoutMs: settings.CP_SMTP_TIMEOUT_SECONDS * 1000,
    from: senderIn(settings.CP_MAIL_FROM),
  };
}

function read(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`The file of ${setting} cannot be read.`, { cause });
  }
}

function senderIn(text: string): Sender {
  const [, name = '', inBrackets] = /^([^<>"\p{Cc}]{0,100})<([^<>]+)>$/u.exec(text.trim()) ?? [];
  const address = inBrackets ?? text.trim();
  if (faultOfAddress(address, []) !== undefined)
    throw new Error(
      'CP_SMTP_HOST requires CP_MAIL_FROM: an address such as baton@example.com, or "Baton <baton@example.com>".',
    );
  return { name: name.trim() || 'Baton', address, domain: address.slice(address.lastIndexOf('@') + 1) };
}
