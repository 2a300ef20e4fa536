import { defineFixtures, type FixtureTenant } from '../../testing/app/fixtures.ts';
import { unsubscribeToken } from '../../testing/notifications/notifications.ts';

const link = ({ baton, actor: { tenantId, principalId } }: FixtureTenant) => ({
  query: `?token=${unsubscribeToken(baton, { tenantId, principalId, kind: 'task.assigned' })}`,
});

export default defineFixtures({ operations: { showUnsubscribe: link, unsubscribe: link } });
