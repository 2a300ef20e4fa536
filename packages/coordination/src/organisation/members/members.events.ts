import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const member = z.strictObject({ principalId: Uuid });
export const workspaceMemberAdded = defineEvent('workspace.member_added', 'workspace', member);
export const workspaceMemberRemoved = defineEvent('workspace.member_removed', 'workspace', member);
