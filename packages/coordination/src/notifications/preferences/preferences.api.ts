import { endpoint } from '../context.ts';
import { NotificationPreferences, NotificationPreferencesChange } from './preference.ts';
import { preferencesUpdated } from './preferences.events.ts';
import { getPreferences, putPreferences } from './preferences.ts';

export const preferencesApi = [
  endpoint({
    id: 'getNotificationPreferences',
    method: 'GET',
    path: '/notifications/preferences',
    summary: 'Read how you are notified, and through which channels this installation sends.',
    returns: { 200: NotificationPreferences },
    etag: 'notification_preferences',
    errors: ['not_a_person'],
    handle: (_, context) => getPreferences(context),
  }),
  endpoint({
    id: 'putNotificationPreferences',
    method: 'PUT',
    path: '/notifications/preferences',
    summary: 'Replace how you are notified.',
    description: 'Anything missing gets its default. Sending the same preferences again changes nothing.',
    ifMatch: 'notification_preferences',
    etag: 'notification_preferences',
    body: NotificationPreferencesChange,
    returns: { 200: NotificationPreferences },
    errors: [
      'not_a_person',
      'permission_denied',
      'unknown_notification_kind',
      'invalid_email_address',
      'version_conflict',
      'too_many_address_changes',
    ],
    emits: [preferencesUpdated],
    example: {
      email: null,
      kinds: { 'decision.requested': { mail: 'immediate' }, 'task.assigned': { mail: 'off' } },
      digestIntervalSeconds: 3600,
    },
    handle: ({ body, ifMatch }, context) => putPreferences(context, ifMatch, body),
  }),
];
