Creator "by hand"
graph
[
  directed 0
  node
  [
    id 4
    label "Ann"
    club "Mr. Hi"
  ]
  node [ id -1 label "Bo" club "Officer" ]
  node [ id 7 ]
  edge
  [
    source 4
    target -1
    weight 2.5
  ]
  edge [ source 7 target 4 graphics [ width 1 ] ]
  # a loop
  edge [ source 7 target 7 ]
]
