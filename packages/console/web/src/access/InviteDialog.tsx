import { Dialog } from '@base-ui/react/dialog';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Invited, InviteFailure, invitePerson, mailInvitation, type NewInvite } from '@baton/sdk/people';
import { AdministrationGate } from '../administration/AdministrationGate.tsx';
import { type Administration, useAdministration } from '../administration/admin-secret.ts';
import { readValues } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Field, LongField, SelectField } from '../parts/Field.tsx';
import { Form } from '../parts/Form.tsx';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import dialog from '../shell/shell.module.css';
import { accessRolesQuery } from './access-queries.ts';
import { InvitationLink, type MailedInvitation } from './InvitationLink.tsx';
import { RoleChoice } from './RoleChoice.tsx';

const daySeconds = 86_400;
const lifetimes = [1, 7, 30];

/** Invites a person: name, role and expiry, then the link, once. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const administration = useAdministration();
  const [invited, setInvited] = useState<MailedInvitation>();
  return (
    // Neither a click outside the dialog nor a key press discards a link that is shown only once.
    <Dialog.Root
      open
      disablePointerDismissal
      onOpenChange={(isOpen) => !isOpen && invited === undefined && onClose()}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog.overlay} />
        <Dialog.Popup className={dialog.dialog}>
          <Dialog.Title>Invite a person</Dialog.Title>
          {invited !== undefined ? (
            <InvitationLink invited={invited} onDone={onClose} />
          ) : administration === undefined ? (
            <>
              <AdministrationGate />
              <div className="row">
                <Dialog.Close>Cancel</Dialog.Close>
              </div>
            </>
          ) : (
            <InviteForm administration={administration} onInvited={setInvited} />
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function InviteForm({
  administration,
  onInvited,
}: {
  administration: Administration;
  onInvited: (invited: MailedInvitation) => void;
}) {
  const queries = useQueryClient();
  const roles = useQuery(accessRolesQuery);
  const keys = useIdempotencyKeys();
  const create = useMutation({
    // The response contains the secret of the link, so it must not enter the mutation cache.
    mutationFn: async (invite: NewInvite) => {
      const key = keys.of(invite);
      try {
        const invited = await invitePerson(baton, administration, invite, (step) => `${key}-${step}`);
        keys.taken();
        onInvited(await withMail(invited));
      } catch (error) {
        // Steps that were undone must not be repeated under the same keys.
        if (error instanceof InviteFailure && error.reason !== 'unfinished') keys.taken();
        throw error;
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'] }),
  });
  function onSubmit(form: HTMLFormElement) {
    const { text } = readValues(form);
    create.mutate({
      displayName: text('name'),
      accessRole: text('role'),
      expiresInSeconds: Number(text('days')) * daySeconds,
      ...(text('email') !== '' && { email: text('email') }),
      ...(text('message') !== '' && { message: text('message') }),
    });
  }
  if (roles.isPending) return <Loading lines={4} />;
  return (
    <Form
      error={create.error}
      fields={{
        displayName: 'name',
        'profile.email': 'email',
        accessRole: 'role',
        expiresInSeconds: 'days',
      }}
      note={(error) => <InviteError error={error} />}
      onSubmit={onSubmit}
    >
      <Field name="name" label="Name" required maxLength={200} autoFocus />
      <Field name="email" label="E-mail (optional)" type="email" maxLength={320} />
      <RoleChoice label="Role" given="member" isExplained />
      <SelectField name="days" label="Link expires after" defaultValue="7">
        {lifetimes.map((days) => (
          <option key={days} value={days}>
            {days === 1 ? '1 day' : `${days} days`}
          </option>
        ))}
      </SelectField>
      <LongField name="message" label="Message (optional)" rows={2} maxLength={1000} />
      <div className="row">
        <button type="submit" className="primary" disabled={create.isPending}>
          {create.isPending ? 'Inviting …' : 'Create link'}
        </button>
        <Dialog.Close>Cancel</Dialog.Close>
      </div>
    </Form>
  );
}

/** Sends the link by e-mail where that is possible. The link works without it, so a failure is only shown. */
export async function withMail(invited: Invited): Promise<MailedInvitation> {
  const isMailed =
    invited.invitation.email !== null && (await mailInvitation(baton, invited).catch(() => false));
  return { ...invited, isMailed };
}

/** The failure of an invitation in words, with the service's error if there is one. */
export function InviteError({ error }: { error: unknown }) {
  if (!(error instanceof InviteFailure)) return <ErrorNote error={error} />;
  return (
    <>
      <p role="alert">{error.message}</p>
      {error.cause !== undefined && <ErrorNote error={error.cause} />}
    </>
  );
}
