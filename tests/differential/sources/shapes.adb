--  Nested subprograms, an instance of a generic, a task-free block with a handler.
with Ada.Command_Line;
with Ada.Text_IO;

procedure Shapes is
   State : Integer := 3;
   pragma Volatile (State);

   generic
      type Number is range <>;
   function Clamped (Value, Low, High : Number) return Number;

   function Clamped (Value, Low, High : Number) return Number is
   begin
      return Number'Min (Number'Max (Value, Low), High);
   end Clamped;

   function Clamp is new Clamped (Integer);

   function Mix (Value : Integer) return Integer is
      function Inner (More : Integer) return Integer is
      begin
         return More * Value + State;
      end Inner;
   begin
      return Inner (Clamp (Value, -1_000, 1_000)) + Value / 8;
   end Mix;

   function "*" (Left : Boolean; Right : Integer) return Integer is
   begin
      return (if Left then Mix (Right) else State);
   end "*";

   Sum : Integer := 0;
begin
   for I in 1 .. 4 + State loop
      Sum := Sum + Mix (I) + (I mod 2 = 0) * I;
   end loop;
   declare
      Bad : Positive;
   begin
      Bad := Ada.Command_Line.Argument_Count;
      Sum := Sum + Bad;
   exception
      when Constraint_Error =>
         Sum := Sum - 1;
   end;
   Ada.Text_IO.Put_Line (Integer'Image (Sum));
end Shapes;
