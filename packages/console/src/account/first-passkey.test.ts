import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { ConsoleContext } from '../context.ts';
import type { FirstPasskeys, Owner } from '../first-passkeys.ts';
import { mayAddFirstPasskey } from './first-passkey.ts';

const subject = JSON.stringify(['t', 'p']);
const printed = { token: 'a', isOperator: true, subject, ageMs: 300_000 };
const asked: Owner[] = [];

function mayAdd(session: object, firstPasskeys: FirstPasskeys | undefined = passkeysOf(false)) {
  const browsers = { require: () => ({ key: 'k', session }) };
  return mayAddFirstPasskey({ browsers, firstPasskeys } as unknown as ConsoleContext, {} as IncomingMessage);
}
const passkeysOf = (has: boolean): FirstPasskeys => ({
  has: async (owner) => {
    asked.push(owner);
    return has;
  },
  createLink: () => assert.fail(),
});

test('a first passkey is offered for 300 seconds after a sign-in by the printed address', async () => {
  assert.equal(await mayAdd(printed), true);
  assert.deepEqual(asked, [{ tenantId: 't', principalId: 'p' }]);
  assert.equal(await mayAdd({ ...printed, ageMs: 300_001 }), false);
});

test('it is offered neither to the holder of a token, nor to anybody who has a passkey', async () => {
  assert.equal(await mayAdd({ ...printed, isOperator: undefined }), false);
  assert.equal(await mayAdd({ ...printed, token: undefined, secret: 's' }), false);
  assert.equal(await mayAdd(printed, passkeysOf(true)), false);
});
