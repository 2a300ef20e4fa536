import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { readKeyFile } from '../../access/secret-store/sealing-keys.ts';
import { isKind, type NotificationKind } from '../kinds.ts';
import type { Settings } from '../settings.ts';

/** What a link ends: the e-mails of one kind to one person. */
export interface Unsubscription {
  readonly tenantId: string;
  readonly principalId: string;
  readonly kind: NotificationKind;
}

export const tokenCharactersMax = 400;

/**
 * Signs and verifies the links in e-mails. A link contains everything needed to unsubscribe, so it requires no row and
 * no lookup, and it doesn't expire, because e-mails are read late. It can only end e-mails of one kind.
 */
export interface UnsubscribeLinks {
  sign(unsubscription: Unsubscription): string;
  /** Undefined for a token that was not signed with a key in the file. */
  verify(token: string): Unsubscription | undefined;
}

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const contentForm = new RegExp(`^(${uuid})/(${uuid})/([a-z_.]{1,100})$`);
const tokenForm = /^([A-Za-z0-9_-]{1,300})\.([A-Za-z0-9_-]{43})$/;

/** The file with the keys; empty if there is none. */
export function keyFileOf(settings: Settings): string {
  return settings.CP_NOTIFICATIONS_KEY_FILE || settings.CP_SECRET_STORE_KEY_FILE;
}

/** @throws Error with one sentence for a file without keys */
export function openUnsubscribeLinks(settings: Settings): UnsubscribeLinks | undefined {
  const file = keyFileOf(settings);
  if (file === '') return undefined;
  const setting =
    settings.CP_NOTIFICATIONS_KEY_FILE === '' ? 'CP_SECRET_STORE_KEY_FILE' : 'CP_NOTIFICATIONS_KEY_FILE';
  return linksOf(readKeyFile(file, setting));
}

/**
 * @param keys of 32 bytes each, one or more; separate keys are derived from them, and the first one signs
 */
export function linksOf(keys: readonly Buffer[]): UnsubscribeLinks {
  const own = keys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'notification links of Baton', 32)));
  const signed = (key: Buffer, content: string) => createHmac('sha256', key).update(content).digest();
  return {
    sign({ tenantId, principalId, kind }) {
      const content = `${tenantId}/${principalId}/${kind}`;
      const mac = signed(own[0] as Buffer, content);
      return `${Buffer.from(content).toString('base64url')}.${mac.toString('base64url')}`;
    },
    verify(token) {
      const [, encoded = '', mac = ''] = tokenForm.exec(token) ?? [];
      const content = Buffer.from(encoded, 'base64url').toString('latin1');
      const given = Buffer.from(mac, 'base64url');
      const isSigned = own
        .map((key) => given.length === 32 && timingSafeEqual(signed(key, content), given))
        .includes(true);
      const [, tenantId = '', principalId = '', kind = ''] = contentForm.exec(content) ?? [];
      return isSigned && isKind(kind) ? { tenantId, principalId, kind } : undefined;
    },
  };
}
