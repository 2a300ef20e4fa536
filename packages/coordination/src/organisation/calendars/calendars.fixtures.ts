import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

const workingHours = { intervals: [{ from: '09:00', to: '17:00' }] };
const spec = { displayName: 'Office', timezone: 'Europe/Berlin', workingHours, years: [{ year: 2026 }] };

export const calendar = defineObject({
  path: '/calendars/{key}',
  make: ({ actor }) => done(actor.post('/calendars', { key: `c${newId()}`, spec }), 201),
});

export default defineFixtures({ objects: [calendar] });
