import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { readSealedSignIns, readSessionKeys, sessionCookieOf, signInCookieOf } from './cookies.ts';

const key = 'k'.repeat(43);
const withCookie = (cookie: string) => ({ headers: { cookie } }) as IncomingMessage;

test('over https, cookies have the prefix that only this host can set, with the attributes that it requires', () => {
  for (const [name, cookie] of [
    ['baton_console', sessionCookieOf(key, true)],
    ['baton_console_begin', signInCookieOf(key, true)],
  ] as const) {
    const [pair, ...attributes] = cookie.split('; ');
    assert.equal(pair, `__Host-${name}=${key}`);
    for (const wanted of ['Path=/', 'Secure', 'HttpOnly']) assert.ok(attributes.includes(wanted), cookie);
    assert.ok(!attributes.some((attribute) => attribute.startsWith('Domain')), cookie);
  }
  assert.match(sessionCookieOf(key, true), /SameSite=Strict/);
  assert.match(signInCookieOf(key, true), /SameSite=Lax/);
});

test('over https, a cookie without the prefix, which another subdomain can plant, is ignored', () => {
  const planted = withCookie(`baton_console=${key}; baton_console_begin=${key}`);
  assert.deepEqual([readSessionKeys(planted, true), readSealedSignIns(planted, true)], [[], []]);
  const own = withCookie(
    `baton_console=${'x'.repeat(43)}; __Host-baton_console=${key}; __Host-baton_console_begin=${key}`,
  );
  assert.deepEqual([readSessionKeys(own, true), readSealedSignIns(own, true)], [[key], [key]]);
});

test('over http, cookies are limited to the paths of the console', () => {
  assert.equal(sessionCookieOf(key, false), `baton_console=${key}; Path=/console; HttpOnly; SameSite=Strict`);
  assert.match(signInCookieOf(key, false), /; Path=\/console\/callback; HttpOnly; SameSite=Lax$/);
  assert.deepEqual(readSessionKeys(withCookie(`baton_console=${key}`), false), [key]);
});
