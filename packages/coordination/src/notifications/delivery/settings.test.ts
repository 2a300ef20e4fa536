import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readCoordinationSettings } from '../../app/settings.ts';
import { readSmtpSettings } from './smtp-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-notification-settings-'));
after(() => rmSync(folder, { recursive: true }));
const fileOf = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const key = fileOf('key', `${Buffer.alloc(32, 7).toString('base64')}\n`);
const mail = {
  CP_SMTP_HOST: 'smtp.example.com',
  CP_MAIL_FROM: 'Baton <baton@example.com>',
  CP_PUBLIC_URL: 'https://baton.example.com/',
  CP_NOTIFICATIONS_KEY_FILE: key,
};
const slack = {
  CP_SLACK_ENABLED: 'true',
  CP_PUBLIC_URL: 'https://baton.example.com',
  CP_SECRET_STORE_KEY_FILE: key,
};

test('the defaults require TLS on the port of submission, and the password comes from a file', () => {
  const login = { CP_SMTP_USER: 'baton', CP_SMTP_PASSWORD_FILE: fileOf('password', ' secret word \n') };
  const smtp = readSmtpSettings(readCoordinationSettings({ ...mail, ...login }));
  assert.deepEqual(smtp, {
    host: 'smtp.example.com',
    port: 587,
    tls: 'starttls',
    authorities: undefined,
    login: { user: 'baton', pass: 'secret word' },
    connectionsMax: 4,
    timeoutMs: 10_000,
    from: { name: 'Baton', address: 'baton@example.com', domain: 'example.com' },
  });
  assert.equal(readSmtpSettings(readCoordinationSettings({})), undefined);
  const plain = readSmtpSettings(readCoordinationSettings({ ...mail, CP_MAIL_FROM: 'x@y.example' }));
  assert.deepEqual(plain?.from, { name: 'Baton', address: 'x@y.example', domain: 'y.example' });
});

test('an authority of the operator is added to the public ones', () => {
  const ca = fileOf('ca.pem', '-----BEGIN CERTIFICATE-----');
  const { authorities = [] } =
    readSmtpSettings(readCoordinationSettings({ ...mail, CP_SMTP_CA_FILE: ca })) ?? {};
  assert.ok(authorities.length > 100 && authorities.at(-1) === '-----BEGIN CERTIFICATE-----');
});

for (const [what, env, sentence] of [
  ['no sender', { ...mail, CP_MAIL_FROM: '' }, /requires CP_MAIL_FROM/],
  [
    'a sender with a header',
    { ...mail, CP_MAIL_FROM: 'Baton\r\nBcc: x@y.example <b@y.example>' },
    /CP_MAIL_FROM/,
  ],
  ['two senders', { ...mail, CP_MAIL_FROM: 'a@y.example, b@y.example' }, /CP_MAIL_FROM/],
  ['no public address', { ...mail, CP_PUBLIC_URL: '' }, /CP_SMTP_HOST requires CP_PUBLIC_URL/],
  ['a public address that is none', { CP_PUBLIC_URL: 'baton.example.com' }, /CP_PUBLIC_URL must be/],
  ['a public address with a query', { CP_PUBLIC_URL: 'https://x.example/?a=b' }, /CP_PUBLIC_URL must be/],
  ['no outbox', { ...mail, CP_OUTBOX_ENABLED: 'false' }, /requires CP_OUTBOX_ENABLED/],
  ['no key', { ...mail, CP_NOTIFICATIONS_KEY_FILE: '' }, /requires CP_NOTIFICATIONS_KEY_FILE/],
  [
    'a bad key',
    { ...mail, CP_NOTIFICATIONS_KEY_FILE: fileOf('bad', 'short') },
    /The file of CP_NOTIFICATIONS_KEY_FILE must have/,
  ],
  ['a user without a password', { ...mail, CP_SMTP_USER: 'baton' }, /must be set together/],
  [
    'a password file that is missing',
    { ...mail, CP_SMTP_USER: 'b', CP_SMTP_PASSWORD_FILE: join(folder, 'none') },
    /The file of CP_SMTP_PASSWORD_FILE cannot be read/,
  ],
  [
    'a password in clear to another machine',
    { ...mail, CP_SMTP_USER: 'b', CP_SMTP_PASSWORD_FILE: key, CP_SMTP_TLS: 'none' },
    /would send the password in clear/,
  ],
  ['a host with blanks', { ...mail, CP_SMTP_HOST: 'a b' }, /CP_SMTP_HOST must be/],
  [
    'Slack without a public address',
    { ...slack, CP_PUBLIC_URL: '' },
    /CP_SLACK_ENABLED requires CP_PUBLIC_URL/,
  ],
  ['Slack without a secret store', { ...slack, CP_SECRET_STORE_KEY_FILE: '' }, /requires a secret store/],
] as const)
  test(`${what} fails at the start, with one sentence`, () => {
    assert.throws(() => readCoordinationSettings(env), sentence);
  });
