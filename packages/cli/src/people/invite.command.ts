import type { Command } from 'commander';
import type { BatonClient, identity } from '@baton/sdk';
import {
  type IdentityAdministration,
  type Invited,
  InviteFailure,
  invitationLink,
  invitePerson,
  type ListedInvitation,
  listInvitations,
  mailInvitation,
  renewInvitation,
  revokeInvitation,
} from '@baton/sdk/people';
import { invocation } from '../../../../bin/invocation.mjs';
import type { Access } from '../access.ts';
import { keysNotKept, openAttempt } from '../attempt-keys.ts';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { exitCodes } from '../error-text.ts';
import { findAccessRoleKey, findId } from '../names.ts';
import { PlainError } from '../plain-error.ts';
import { addResource } from '../resources/resource.command.ts';
import { type Called, defineColumns, type Resource } from '../resources/resource.ts';
import { fieldsNamed } from '../result-form.ts';
import { show } from '../show.ts';
import { requireAdministration } from './administration.ts';
import { lifetime } from './lifetime.ts';

interface InviteOptions extends CommonOptions {
  readonly role: string;
  readonly email?: string;
  readonly expiresIn?: number;
  readonly message?: string;
  readonly consoleUrl?: string;
}

const issuedFields = [
  ...([
    'displayName',
    'email',
    'accessRole',
    'principalId',
    'invitationId',
    'expiresAt',
    'link',
    'isMailed',
  ] as const),
];
const expiresIn = [
  '--expires-in <time>',
  'how long the link works, such as 7d, 12h or 30m (7d by default; at most 30d)',
  lifetime(60, 30),
] as const;
const consoleUrl = ['--console-url <address>', 'the address of the console, if it runs separately'] as const;

/**
 * `baton invite`: a one-time link with which a person signs in, with a role.
 */
export function addInvite(program: Command, context: CommandContext): void {
  const command = program
    .command('invite')
    .description('invite a person with a one-time link')
    .argument('<name>', 'the name of the person');
  addResource(program, invitations, context);
  withCommonOptions(command, fieldsNamed(...issuedFields))
    .option('--role <role>', 'the access role of the person', 'member')
    .option('--email <address>', 'the e-mail address of the person')
    .option(...expiresIn)
    .option('--message <text>', 'a few words that the person reads when they open the link')
    .option(...consoleUrl)
    .action((name: string, options: InviteOptions) =>
      asCaller(options, context, async (baton, access) => {
        const invited = await invite(baton, access, context, { name, ...options });
        const issued = await issuedOf(baton, invited, access, options.consoleUrl);
        await show(context.output, options, issued, () => issuedLines(issued));
      }),
    );
}

async function invite(
  baton: BatonClient,
  access: Access,
  context: CommandContext,
  { name, role, email, expiresIn: expiresInSeconds, message }: InviteOptions & { readonly name: string },
): Promise<Invited> {
  const administration = requireAdministration(baton, access);
  const order = {
    displayName: name,
    accessRole: await findAccessRoleKey(baton, role),
    ...(email !== undefined && { email }),
    ...(message !== undefined && { message }),
    ...(expiresInSeconds !== undefined && { expiresInSeconds }),
  };
  const attempt = await openAttempt(baton, access, context.config, { command: 'invite', content: [order] });
  if (!attempt.keep()) context.output.progress(`${keysNotKept}\n`);
  try {
    const invited = await plainly(() =>
      invitePerson(baton, administration, order, (step) => attempt.keyOf(step)),
    );
    attempt.forget();
    return invited;
  } catch (error) {
    // Only repeating an interrupted attempt uses the same keys.
    if (!(error instanceof PlainError && isUnfinished(error.cause))) attempt.forget();
    throw error;
  }
}

const isUnfinished = (cause: unknown): boolean =>
  cause instanceof InviteFailure && cause.reason === 'unfinished';

/** Open invitations and recovery links. */
const invitations: Resource = {
  noun: 'invite',
  summary: 'invitations and recovery links',
  list: {
    operation: fieldsNamed(
      ...(['id', 'tenantId', 'principalId', 'kind', 'displayName', 'email', 'role', 'invitedBy'] as const),
      ...(['message', 'replacesCredentials', 'publicPrefix', 'status', 'createdAt', 'expiresAt'] as const),
      ...(['acceptedAt', 'acceptedBy', 'revokedAt', 'revokeReason'] as const),
      ...(['coordinationPrincipalId', 'accessRole'] as const),
    ),
    columns: [
      ...defineColumns<ListedInvitation>(['ID', 'id'], ['KIND', 'kind'], ['STATUS', 'status']),
      ['ROLE', ({ kind, accessRole }) => accessRole ?? (kind === 'recovery' ? '' : 'no access yet')],
      ...defineColumns<ListedInvitation>(
        ['EXPIRES', 'expiresAt'],
        ['INVITED BY', 'invitedBy'],
        ['NAME', 'displayName'],
        ['E-MAIL', 'email'],
      ),
    ],
    filters: [['--status <status>', 'open (by default), accepted, revoked or expired']],
    call: (called, { status = 'open' }) => invitationsOf(called, String(status)),
  },
  acts: [
    {
      usage: 'renew <invitation>',
      summary: 'make a new link in place of one that was lost or has expired',
      result: fieldsNamed(...issuedFields),
      options: [expiresIn, consoleUrl],
      call: renew,
      says: (value) => issuedLines(value as unknown as Issued).join('\n'),
    },
    {
      usage: 'revoke <invitation>',
      summary: 'revoke a link; somebody who never accepted also loses their pending access',
      result: fieldsNamed('id', 'displayName', 'disabledPrincipalId'),
      options: [['--reason <text>', 'why, for the audit log']],
      call: revoke,
      says: ({ displayName, disabledPrincipalId }) =>
        `The link of ${String(displayName)} is revoked${disabledPrincipalId === null ? '' : ', and so is their pending access'}.`,
    },
  ],
};

const statuses = ['open', 'accepted', 'revoked', 'expired'];

async function* invitationsOf(called: Called, status: string): AsyncGenerator<ListedInvitation> {
  if (!statuses.includes(status))
    throw new PlainError(`--status must be ${statuses.join(', ')}; got ${status}.`, {
      exitCode: exitCodes.usage,
    });
  const administration = requireAdministration(called.baton, called.access);
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await listInvitations(called.baton, administration, {
      status: status as ListedInvitation['status'],
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.items;
    cursor = page.nextCursor;
  }
}

async function renew(called: Called): Promise<Issued> {
  const { baton, access, options } = called;
  const administration = requireAdministration(baton, access);
  const former = await findInvitation(called, administration);
  const { expiresIn: seconds, consoleUrl: address } = options;
  const invited = await plainly(() =>
    renewInvitation(
      baton,
      administration,
      former,
      typeof seconds === 'number' ? { expiresInSeconds: seconds } : {},
    ),
  );
  return issuedOf(baton, invited, access, typeof address === 'string' ? address : undefined);
}

async function revoke(called: Called) {
  const { baton, access, options } = called;
  const administration = requireAdministration(baton, access);
  const invitation = await findInvitation(called, administration);
  const reason = typeof options['reason'] === 'string' ? options['reason'] : undefined;
  const { disabledPrincipalId } = await plainly(() =>
    revokeInvitation(baton, administration, invitation, reason),
  );
  return { id: invitation.id, displayName: invitation.displayName, disabledPrincipalId };
}

/** An id, or the name or e-mail address of an open invitation. */
async function findInvitation(
  called: Called,
  { identity: api, tenantId }: IdentityAdministration,
): Promise<identity.Invitation> {
  const open = async function* () {
    for await (const { id, displayName, email, expiresAt } of invitationsOf(called, 'open'))
      yield { id, names: [displayName, email], about: `open until ${expiresAt}` };
  };
  const id = await findId('open invitation', called.args[0] ?? '', open());
  return api.invitations.get(tenantId, id);
}

interface Issued extends Readonly<Record<Exclude<(typeof issuedFields)[number], 'isMailed'>, string | null>> {
  /** Whether Baton sends the link by e-mail. */
  readonly isMailed: boolean;
}

async function issuedOf(
  baton: BatonClient,
  { invitation, principalId, token }: Invited,
  access: Access,
  address?: string,
): Promise<Issued> {
  const { id: invitationId, displayName, email, role: accessRole, expiresAt } = invitation;
  const link = invitationLink(address ?? consoleAddress(access), token);
  // A failure is not fatal: the link works without the e-mail.
  const isMailed = email !== null && (await mailInvitation(baton, { principalId, token }).catch(() => false));
  return { displayName, email, accessRole, principalId, invitationId, expiresAt, link, isMailed };
}

/** In the default run, the issuer is below the console's address. */
function consoleAddress({ issuer, coordinationUrl }: Access): string {
  return issuer?.endsWith('/iam') ? issuer.slice(0, -'/iam'.length) : coordinationUrl;
}

function issuedLines({ displayName, accessRole, expiresAt, link, email, isMailed }: Issued): string[] {
  return [
    `${displayName} is invited as ${accessRole}, until ${expiresAt}.`,
    ...(isMailed
      ? [`Baton sends this link to ${email}. It works once, and is not shown again:`]
      : [
          ...(email === null
            ? []
            : [`No e-mail can be sent to ${email}: check CP_SMTP_HOST and the address.`]),
          'Send them this link. It works once, and is not shown again:',
        ]),
    String(link),
    `${invocation()} invite list shows open invitations, and ${invocation()} invite renew makes a new link.`,
  ];
}

async function plainly<Value>(act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof InviteFailure) throw new PlainError(error.message, { cause: error });
    throw error;
  }
}
