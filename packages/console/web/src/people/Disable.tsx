import { AlertDialog } from '@base-ui/react/alert-dialog';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { baton } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { principalQuery } from '../queries.ts';
import dialog from '../shell/shell.module.css';
import type { Activity } from './activity.ts';

/** Asks before a principal is disabled, and says what ends with it. */
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
            It can't act in Baton any more.{' '}
            {sessions.length + held.length > 0 && (
              <>
                {counted(sessions.length, 'session')} of it {sessions.length === 1 ? 'is' : 'are'} closed and{' '}
                {counted(held.length, 'lease')} {held.length === 1 ? 'ends' : 'end'}: others may take that
                work at once. Enabling it again brings back none of them.
              </>
            )}{' '}
            Its account is not disabled: it still gets access tokens for other services. To end that too,
            disable it in Administration.
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
            <AlertDialog.Close>Leave it</AlertDialog.Close>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
