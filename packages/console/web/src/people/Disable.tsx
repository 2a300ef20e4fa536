import { AlertDialog } from '@base-ui/react/alert-dialog';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { baton } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { principalQuery } from '../queries.ts';
import dialog from '../shell/shell.module.css';
import type { Activity } from './activity.ts';

/** Confirms the disabling of a principal, and lists its effects. */
export function Disable({ activity, onClose }: { activity: Activity; onClose: () => void }) {
  const { principalId, sessions, held } = activity;
  const queries = useQueryClient();
  const { data: principal } = useQuery(principalQuery(principalId));
  const disable = useMutation({
    mutationFn: () => baton.principals.disable(principalId, { reason: 'disabled_in_console' }),
    onSuccess: onClose,
    onSettled: () => {
      for (const key of ['principals', 'people', 'tasks'])
        void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  const name = principal?.displayName ?? 'this principal';
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={dialog.overlay} />
        <AlertDialog.Popup className={dialog.dialog}>
          <AlertDialog.Title>Disable {name}?</AlertDialog.Title>
          <AlertDialog.Description>
            It will lose access to Baton immediately.{' '}
            {sessions.length + held.length > 0 && (
              <>
                This closes {counted(sessions.length, 'session')} and releases {counted(held.length, 'claim')}
                , so that others can claim the work. Enabling it again does not restore them.
              </>
            )}{' '}
            Its identity stays active and still gets access tokens for other services. To disable it there
            too, go to Administration.
          </AlertDialog.Description>
          {disable.isError && <ErrorNote error={disable.error} />}
          <div className="row">
            <button
              type="button"
              className="primary"
              disabled={disable.isPending}
              onClick={() => disable.mutate()}
            >
              {disable.isPending ? 'Disabling …' : 'Disable'}
            </button>
            <AlertDialog.Close>Cancel</AlertDialog.Close>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
