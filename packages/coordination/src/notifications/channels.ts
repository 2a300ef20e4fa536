import { z } from 'zod';
import type { Settings } from './settings.ts';

/** Whether this installation sends through a channel. */
export const ChannelStatus = z
  .strictObject({
    available: z.boolean(),
    reason: z
      .enum(['smtp_not_configured', 'slack_not_enabled'])
      .nullable()
      .meta({ description: 'Why nothing is sent by this channel; null while it is available.' }),
  })
  .meta({ id: 'NotificationChannelStatus' });
export type ChannelStatus = z.infer<typeof ChannelStatus>;

export function statusOfMail({ CP_SMTP_HOST: host }: Settings): ChannelStatus {
  return host === ''
    ? { available: false, reason: 'smtp_not_configured' }
    : { available: true, reason: null };
}

export function statusOfSlack({ CP_SLACK_ENABLED: isEnabled }: Settings): ChannelStatus {
  return isEnabled ? { available: true, reason: null } : { available: false, reason: 'slack_not_enabled' };
}
