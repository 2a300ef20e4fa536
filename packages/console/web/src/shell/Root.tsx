import { Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { keepFocus } from './keep-focus.ts';

/** What all pages share, also those outside of the navigation. */
export function Root() {
  useEffect(keepFocus, []);
  return <Outlet />;
}
