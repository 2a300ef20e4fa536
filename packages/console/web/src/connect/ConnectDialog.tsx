import { Dialog } from '@base-ui/react/dialog';
import { useState } from 'react';
import type { IssuedConnection, Snippet } from '@baton/sdk/connect';
import { AdministrationGate } from '../administration/AdministrationGate.tsx';
import { useAdministration } from '../administration/admin-secret.ts';
import dialog from '../shell/shell.module.css';
import { ConnectForm } from './ConnectForm.tsx';
import { Connection } from './Connection.tsx';
import styles from './connect.module.css';

/** A connection, and what its agent's client needs. Only this page holds it. */
export interface Issued {
  readonly connection: IssuedConnection;
  readonly snippet: Snippet;
}

/** Registers an agent, shows once what to paste into its client, and waits for its first call. */
export default function ConnectDialog({ onClose }: { onClose: () => void }) {
  const [issued, setIssued] = useState<Issued>();
  // A key press, or a click outside the dialog, must not discard a token that is shown only once.
  const onOpenChange = (isOpen: boolean) => !isOpen && issued === undefined && onClose();
  return (
    <Dialog.Root open onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog.overlay} />
        <Dialog.Popup className={`${dialog.dialog} ${styles.dialog}`}>
          <Dialog.Title>
            {issued === undefined ? 'Connect an agent' : `Connect ${issued.connection.displayName}`}
          </Dialog.Title>
          <Step issued={issued} onIssued={setIssued} onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface StepProps {
  readonly issued: Issued | undefined;
  onIssued(issued: Issued): void;
  onClose(): void;
}

function Step({ issued, onIssued, onClose }: StepProps) {
  const administration = useAdministration();
  // Checked first, so that a token that is shown only once remains visible even after the administration is locked.
  if (issued !== undefined)
    return <Connection issued={issued} administration={administration} onClose={onClose} />;
  if (administration === undefined)
    return (
      <>
        <AdministrationGate />
        <Dialog.Close>Cancel</Dialog.Close>
      </>
    );
  return <ConnectForm administration={administration} onIssued={onIssued} onClose={onClose} />;
}
