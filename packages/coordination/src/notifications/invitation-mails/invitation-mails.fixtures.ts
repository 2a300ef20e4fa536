import { randomBytes } from 'node:crypto';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { defineFixtures } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { mailAddress } from '../../testing/notifications/notifications.ts';

/** A link that the leak test searches for. */
export function invitationToken(): string {
  const secret = randomBytes(32).toString('base64url');
  keepSecret('link of an invitation', secret);
  return `iam_inv_${randomBytes(6).toString('hex')}_${secret}`;
}

export default defineFixtures({
  operations: {
    async sendInvitationMail({ actor }) {
      const { id } = await done(actor.post('/principals', { kind: 'human', displayName: 'Maria' }), 201);
      const profile = { email: mailAddress() };
      await done(actor.patch(`/principals/${id}`, { profile }, { 'if-match': '"principal-1"' }));
      return { body: { principalId: id, token: invitationToken() } };
    },
  },
});
